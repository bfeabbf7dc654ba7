// SPDX-License-Identifier: Apache-2.0
#include "compile_queue.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

using namespace cubinet;

namespace {

Result<CompileOutput> output_of(std::size_t index) {
  CompileOutput output;
  output.record.size = index;
  return output;
}

}  // namespace

TEST_CASE("every request is compiled once and told once, one call at a time") {
  for (const unsigned jobs : {0U, 1U, 3U, 16U, 1000U}) {
    std::set<std::size_t> told;
    std::atomic<int> inside{0};
    std::atomic<int> compiled{0};
    run_compile_queue(
        100, jobs,
        [&](std::size_t index) {
          ++compiled;
          return output_of(index);
        },
        [&](std::size_t index, Result<CompileOutput> outcome) {
          CHECK(++inside == 1);
          CHECK(outcome.has_value());
          CHECK(outcome->record.size == index);
          told.insert(index);
          --inside;
        },
        {});
    CHECK(compiled == 100);
    CHECK(told.size() == 100);
  }
}

TEST_CASE("no more than the asked number run at once") {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  run_compile_queue(40, 4,
                    [&](std::size_t index) {
                      const int now = ++running;
                      int seen = most;
                      while (now > seen && !most.compare_exchange_weak(seen, now)) {
                      }
                      std::this_thread::sleep_for(std::chrono::milliseconds(2));
                      --running;
                      return output_of(index);
                    },
                    {}, {});
  CHECK(most <= 4);
  CHECK(most > 1);
}

TEST_CASE("cancelled, nothing new is begun and what is finished is told") {
  std::size_t told = 0;
  std::atomic<std::size_t> compiled{0};
  run_compile_queue(
      100, 4,
      [&](std::size_t index) {
        ++compiled;
        return output_of(index);
      },
      [&](std::size_t, const Result<CompileOutput>&) { ++told; }, [&] { return told >= 10; });
  CHECK(told >= 10);
  CHECK(told <= 14);
  CHECK(told == compiled);
}

TEST_CASE("an error is an outcome like any other") {
  std::size_t errors = 0;
  run_compile_queue(
      10, 2,
      [](std::size_t) -> Result<CompileOutput> {
        return Error{ErrorCode::compile_failed, "no"};
      },
      [&](std::size_t, const Result<CompileOutput>& outcome) { errors += outcome ? 0U : 1U; }, {});
  CHECK(errors == 10);
}

TEST_CASE("an empty queue calls nothing") {
  run_compile_queue(
      0, 4, [](std::size_t index) { return output_of(index); },
      [](std::size_t, const Result<CompileOutput>&) { FAIL("told of nothing"); }, {});
}
