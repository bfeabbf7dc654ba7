// SPDX-License-Identifier: Apache-2.0
#include "retry.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace cubinet;
using namespace std::chrono_literals;

TEST_CASE("only what may pass is asked again") {
  std::set<int> repeated;
  for (int status = 100; status < 600; ++status) {
    if (is_retryable_status(status)) repeated.insert(status);
  }
  CHECK(repeated == std::set<int>{408, 429, 500, 502, 503, 504});
}

TEST_CASE("a Retry After is a number of seconds or a date") {
  constexpr std::time_t now = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
  CHECK(parse_retry_after("0", now) == 0ms);
  CHECK(parse_retry_after("120", now) == 120s);
  CHECK(parse_retry_after("99999999999999999999", now) == 1'000'000'000s);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now) == 0ms);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", now) == 30s);
  CHECK(parse_retry_after("Sat, 05 Nov 1994 08:50:07 GMT", now) == 0ms);
  for (const char* bad :
       {"", "-1", "1.5", "soon", "Sun, 06 Nov 1994 08:50:07 CET", "Sun, 06 Foo 1994 08:50:07 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:5x:07 GMT"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_retry_after(bad, now));
  }
}

TEST_CASE("waits are anything up to a bound that doubles, on top of what was asked for") {
  const auto delay = [](unsigned next, std::uint64_t random, std::chrono::milliseconds asked = 0ms) {
    return retry_delay(next, 100ms, 1000ms, asked, random);
  };
  CHECK(delay(1, 0) == 0ms);
  CHECK(delay(1, 100) == 100ms);
  CHECK(delay(1, 101) == 0ms);
  CHECK(delay(3, 400) == 400ms);
  CHECK(delay(4, 800) == 800ms);
  CHECK(delay(5, 1000) == 1000ms);
  CHECK(delay(60, 1000) == 1000ms);
  CHECK(delay(60, 1001) == 0ms);
  CHECK(delay(1, 5, 3000ms) == 3005ms);
}
