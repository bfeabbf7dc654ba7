// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace cubinet {

// REQUIRES: b > 0 and a + b - 1 fits.
constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

}  // namespace cubinet
