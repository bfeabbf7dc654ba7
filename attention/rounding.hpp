// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

namespace cubinet {

// Returns a / b, rounded up. REQUIRES: b > 0.
template <std::unsigned_integral A, std::unsigned_integral B>
constexpr std::common_type_t<A, B> divide_up(A a, B b) {
  return a / b + (a % b != 0 ? 1U : 0U);
}

}  // namespace cubinet
