// SPDX-License-Identifier: Apache-2.0
#include "function.hpp"

#include "ffi_values.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace cubinet;
using namespace cubinet::test;
using namespace cubinet::tvm_ffi;

TEST_CASE("a call that succeeds stores its value and returns zero") {
  Value result = none();
  CHECK(run_function("f", nullptr, 0, &result, [](Arguments&) -> Result<Value> { return integer(5); }) == 0);
  CHECK(result.integer == 5);
  CHECK(run_function("f", nullptr, 0, nullptr, [](Arguments&) -> Result<Value> { return none(); }) == 0);
}

TEST_CASE("an error and an exception return a failure and leave the value") {
  Value result = integer(5);
  const auto fails = [](Arguments&) -> Result<Value> { return Error{ErrorCode::driver, "no"}; };
  const auto throws = [](Arguments&) -> Result<Value> { throw std::runtime_error("no"); };
  CHECK(run_function("f", nullptr, 0, &result, fails) == -1);
  CHECK(run_function("f", nullptr, 0, &result, throws) == -1);
  CHECK(result.integer == 5);
}

TEST_CASE("every error of the C library keeps its code, text and number") {
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    const Error given{static_cast<ErrorCode>(code), "message", "remedy", "detail", 7};
    const auto error = call_c([&](cubinet_error** out) { return c_api::fail(out, given); });
    REQUIRE(!error);
    CHECK(error.error().code == given.code);
    CHECK(error.error().message == "message");
    CHECK(error.error().remedy == "remedy");
    CHECK(error.error().detail == "detail");
    CHECK(error.error().native == 7);
  }
  CHECK(call_c([](cubinet_error**) { return CUBINET_OK; }));
}
