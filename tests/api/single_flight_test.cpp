// SPDX-License-Identifier: Apache-2.0
#include "single_flight.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cubinet {
namespace {

template <class Body>
void run_in_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back(body);
  for (std::thread& thread : threads)
    thread.join();
}

TEST_CASE("sixteen threads that ask for one key at once share one chunk of work") {
  SingleFlight<int, int> flights;
  std::atomic<int> arrived{0};
  std::atomic<int> worked{0};
  std::atomic<int> right{0};
  run_in_threads(16, [&] {
    ++arrived;
    while (arrived < 16)
      std::this_thread::yield();
    const auto value = flights.run(7, [&]() -> Result<int> {
      ++worked;
      // Long enough for the others to join: they have all passed the barrier above.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return 42;
    });
    if (value && *value == 42) ++right;
  });
  CHECK(worked == 1);
  CHECK(right == 16);
}

TEST_CASE("who joined a flight that does not land is told so after a while") {
  SingleFlight<int, int> flights(std::chrono::milliseconds(20));
  std::atomic<bool> flies{false};
  std::atomic<bool> told{false};
  std::thread leader([&] {
    const auto value = flights.run(7, [&]() -> Result<int> {
      flies = true;
      while (!told)
        std::this_thread::yield();
      return 42;
    });
    CHECK(value);
  });
  while (!flies)
    std::this_thread::yield();
  const auto joined = flights.run(7, []() -> Result<int> { return 1; });
  told = true;
  leader.join();
  REQUIRE_FALSE(joined);
  CHECK(joined.error().code == ErrorCode::busy);
}

TEST_CASE("different keys do not wait for each other") {
  SingleFlight<int, int> flights;
  const auto outer =
      flights.run(1, [&]() -> Result<int> { return flights.run(2, []() -> Result<int> { return 5; }); });
  REQUIRE(outer);
  CHECK(*outer == 5);
}

TEST_CASE("an error reaches all who joined and is not remembered") {
  SingleFlight<int, int> flights;
  const auto failed = flights.run(1, []() -> Result<int> { return Error{ErrorCode::io, "no"}; });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "no");
  const auto again = flights.run(1, []() -> Result<int> { return 3; });
  REQUIRE(again);
  CHECK(*again == 3);
}

TEST_CASE("work that throws leaves nobody waiting") {
  SingleFlight<int, int> flights;
  std::atomic<bool> leading{false};
  std::thread leader([&] {
    try {
      static_cast<void>(flights.run(1, [&]() -> Result<int> {
        leading = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        throw std::runtime_error("memory");
      }));
    } catch (const std::runtime_error&) {
    }
  });
  while (!leading)
    std::this_thread::yield();
  const auto joined = flights.run(1, []() -> Result<int> { return 9; });
  leader.join();
  // It joined the throwing flight and got an error, or came after it and did the work itself.
  if (joined) {
    CHECK(*joined == 9);
  } else {
    CHECK(joined.error().code == ErrorCode::internal);
  }
}

}  // namespace
}  // namespace cubinet
