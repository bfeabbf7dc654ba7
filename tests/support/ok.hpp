// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace cubinet::test {

// What a call gives that the rest of the test case needs: its error is the test's failure.
template <class T>
T ok(Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), (result ? std::string() : result.error().to_line()));
  return *std::move(result);
}

inline void ok(const Result<void>& result) {
  REQUIRE_MESSAGE(result.has_value(), (result ? std::string() : result.error().to_line()));
}

}  // namespace cubinet::test
