// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace cubinet::test {

// For the message of an assertion, which a run with --success evaluates where it holds, too.
template <class T>
std::string why_not(const Result<T>& result) {
  return result ? std::string() : result.error().to_line();
}

// What a call gives that the rest of the test case needs: its error is the test's failure.
template <class T>
T ok(Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), why_not(result));
  return *std::move(result);
}

inline void ok(const Result<void>& result) {
  REQUIRE_MESSAGE(result.has_value(), why_not(result));
}

}  // namespace cubinet::test
