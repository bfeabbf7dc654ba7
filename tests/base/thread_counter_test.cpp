// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/thread_counter.hpp>

#include <doctest/doctest.h>

#include <set>
#include <thread>
#include <vector>

using cubinet::ThreadCounter;

TEST_CASE("A counter returns the sum of what all threads added") {
  ThreadCounter counter;
  constexpr unsigned kThreads = 2 * ThreadCounter::kCells + 3;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&counter] {
      for (unsigned i = 0; i < 100; ++i)
        counter.add();
      counter.add(5);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(counter.sum() == kThreads * 105);
}

TEST_CASE("Threads that begin one after the other have cells of their own") {
  std::set<std::size_t> cells;
  for (std::size_t i = 0; i < ThreadCounter::kCells; ++i)
    std::thread([&cells] { cells.insert(ThreadCounter::cell()); }).join();
  CHECK(cells.size() == ThreadCounter::kCells);
  CHECK(ThreadCounter::cell() == ThreadCounter::cell());
}
