// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/result.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>

namespace cubinet {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error{ErrorCode::invalid_argument, std::to_string(value) + " is odd"};
  return value / 2;
}

Result<int> quarter(int value) {
  CUBINET_TRY_ASSIGN(const int once, half(value));
  CUBINET_TRY_ASSIGN(const int twice, half(once));
  return twice;
}

Result<void> check_even(int value) {
  CUBINET_TRY(half(value));
  return {};
}

TEST_CASE("a result holds a value or an error") {
  CHECK(*half(4) == 2);
  CHECK(half(3).error().message == "3 is odd");
  CHECK(half(3).value_or(-1) == -1);
  CHECK(half(8).value_or(-1) == 4);
}

TEST_CASE("the try macros return the first error and pass values on") {
  CHECK(*quarter(8) == 2);
  CHECK(quarter(6).error().message == "3 is odd");
  CHECK(check_even(2));
  CHECK(check_even(1).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("chained calls stop at the first error") {
  CHECK(*half(8).and_then(half).transform([](int value) { return value + 1; }) == 3);
  CHECK(half(6).and_then(half).error().message == "3 is odd");
  CHECK(half(1).transform([](int value) { return std::to_string(value); }).error().message == "1 is odd");
  CHECK(*check_even(2).and_then([] { return half(2); }) == 1);
}

TEST_CASE("values that can only be moved pass through") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> value = *std::move(result);
  CHECK(*value == 7);
}

TEST_CASE("a value converts into a result of an optional or a base pointer") {
  const Result<std::optional<int>> some = 3;
  REQUIRE(some);
  CHECK(*some == 3);
  const Result<std::shared_ptr<const int>> pointer = std::make_shared<int>(5);
  REQUIRE(pointer);
  CHECK(**pointer == 5);
}

}  // namespace
}  // namespace cubinet
