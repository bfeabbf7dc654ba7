// SPDX-License-Identifier: Apache-2.0
#include <cubinet/distribution/circuit_breaker.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace cubinet;
using namespace std::chrono_literals;

TEST_CASE("who answers is asked by everybody, and so is who refuses") {
  CircuitBreaker breaker(1h);
  CHECK(breaker.may_ask());
  breaker.note(Result<int>(1));
  breaker.note(Result<int>(Error{ErrorCode::not_found, "gone"}));
  CHECK(breaker.may_ask());
  CHECK(breaker.may_ask());
  CHECK_FALSE(breaker.is_resting());
}

TEST_CASE("who gave no answer is passed over for the rest, and then asked by one") {
  CircuitBreaker breaker(50ms);
  breaker.note(Result<int>(Error{ErrorCode::unavailable, "dead"}));
  CHECK(breaker.is_resting());
  CHECK_FALSE(breaker.may_ask());
  std::this_thread::sleep_for(60ms);
  CHECK(breaker.may_ask());
  CHECK_FALSE(breaker.may_ask());
  breaker.note(true);
  CHECK(breaker.may_ask());
  CHECK(breaker.may_ask());
}
