// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division by a number that the host knows in advance. The host's compiler and NVRTC both compile
// this file.
#include <cubinet/kernel_templates/parameter_layout.h>

namespace cubinet::kernel_templates {

// A divisor for n >= 0: multiply, take the high half, shift. The layout is an ABI of kernels.
//
// The quotient is exact for every divisor from 1 to 2^31 - 1 and every n from 0 to 2^31 - 1. With s
// = shift and m = ceil(2^(32+s) / d), 2^s < d <= 2^(s+1), the excess m*d - 2^(32+s) is below
// 2^(s+1), so n times it stays below 2^(32+s). Divisor 1 has no such s; it has multiplier 0, and
// the quotient is n.
//
// make_fast_divisor (fast_divisor.hpp) creates one. The default divides by 1.
struct FastDivisor {
  int divisor = 1;
  unsigned multiplier = 0;
  unsigned add = 0;  // reserved, 0
  int shift = 0;

  CUBINET_BOTH_SIDES int quotient(int n) const {
    const unsigned long long product = static_cast<unsigned long long>(static_cast<unsigned>(n)) * multiplier;
    const int quotient = static_cast<int>(static_cast<unsigned>(product >> 32) >> shift);
    return multiplier == 0 ? n : quotient;
  }
  CUBINET_BOTH_SIDES int remainder(int n) const { return n - quotient(n) * divisor; }

#if __cplusplus >= 202002L  // device code is C++17
  friend bool operator==(const FastDivisor&, const FastDivisor&) = default;
#endif
};

static_assert(sizeof(FastDivisor) == 16 && alignof(FastDivisor) == 4, "FastDivisor changed its size");
CUBINET_ASSERT_OFFSET(FastDivisor, divisor, 0);
CUBINET_ASSERT_OFFSET(FastDivisor, multiplier, 4);
CUBINET_ASSERT_OFFSET(FastDivisor, add, 8);
CUBINET_ASSERT_OFFSET(FastDivisor, shift, 12);

}  // namespace cubinet::kernel_templates
