// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <cstdint>

namespace cubinet {

// Division of n >= 0 by a number known beforehand, as kernels do it: multiply, take the high half, shift.
// The layout is an ABI of kernels: 16 bytes, these members in this order.
//
// Exact for every divisor from 1 to 2^31 - 1 and every n from 0 to 2^31 - 1: with s = shift and
// m = ceil(2^(32+s) / d), 2^s < d <= 2^(s+1), the excess m*d - 2^(32+s) is below 2^(s+1), so n times it stays
// below 2^(32+s). Divisor 1 has no such s; multiplier 0 says so, and the quotient is n.
struct FastDivisor {
  std::int32_t divisor = 1;
  std::uint32_t multiplier = 0;
  std::uint32_t add = 0;  // reserved, 0
  std::int32_t shift = 0;

  // invalid_argument for a divisor below 1.
  static Result<FastDivisor> make(std::int32_t divisor);

  std::int32_t quotient(std::int32_t n) const {
    if (divisor == 1) return n;
    const std::uint64_t product = std::uint64_t{static_cast<std::uint32_t>(n)} * multiplier;
    return static_cast<std::int32_t>((product >> 32U) >> static_cast<unsigned>(shift));
  }
  std::int32_t remainder(std::int32_t n) const { return n - quotient(n) * divisor; }

  friend bool operator==(const FastDivisor&, const FastDivisor&) = default;
};
static_assert(sizeof(FastDivisor) == 16);

}  // namespace cubinet
