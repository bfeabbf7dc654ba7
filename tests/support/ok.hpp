// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace cubinet::test {

// Returns the text for the message of an assertion. A run with --success evaluates it for a passing
// assertion too.
template <class T>
std::string why_not(const Result<T>& result) {
  return result ? std::string() : result.error().to_line();
}

// Returns the value of a call that the rest of the test case needs. An error fails the test.
template <class T>
T ok(Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), why_not(result));
  return *std::move(result);
}

inline void ok(const Result<void>& result) {
  REQUIRE_MESSAGE(result.has_value(), why_not(result));
}

}  // namespace cubinet::test
