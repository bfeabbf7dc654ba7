// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/parallel.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

using namespace cubinet;

TEST_CASE("every chunk of work is done once, by no more threads than allowed") {
  std::mutex mutex;
  std::set<std::size_t> done;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  parallel_for(100, 4, [&](std::size_t index) {
    const int now = ++running;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(mutex);
    CHECK(done.insert(index).second);
    --running;
  });
  CHECK(done.size() == 100);
  CHECK(most <= 4);
}

TEST_CASE("no work is fine, and no number of threads stands for one a core") {
  parallel_for(0, 4, [](std::size_t) { FAIL("there is nothing to do"); });
  std::atomic<std::size_t> count{0};
  parallel_for(3, 0, [&](std::size_t) { ++count; });
  CHECK(count == 3);
}

TEST_CASE("once cancelled nothing more is begun") {
  std::atomic<std::size_t> begun{0};
  parallel_for(1000, 2, [&](std::size_t) { ++begun; }, {[&] { return begun >= 10; }, {}});
  CHECK(begun >= 10);
  CHECK(begun <= 12);
}

TEST_CASE("a hook that cancels once stops every thread and is not called again") {
  for (std::size_t at = 1; at <= 20; ++at) {
    std::size_t calls = 0;
    std::atomic<std::size_t> begun{0};
    parallel_for(100, 4, [&](std::size_t) { ++begun; }, {[&] { return ++calls == at; }, {}});
    CHECK(calls == at);
    CHECK(begun == at - 1);
  }
}

TEST_CASE("an exception of the work arrives at the caller and stops the rest") {
  std::atomic<std::size_t> begun{0};
  CHECK_THROWS_AS(parallel_for(1000, 2,
                               [&](std::size_t) {
                                 ++begun;
                                 throw std::runtime_error("no");
                               }),
                  std::runtime_error);
  CHECK(begun <= 2);
}

TEST_CASE("the caller is called while it waits") {
  std::atomic<int> ticks{0};
  parallel_for(1, 1, [](std::size_t) { std::this_thread::sleep_for(std::chrono::milliseconds(350)); },
               {{}, [&] { ++ticks; }});
  CHECK(ticks >= 1);
}
