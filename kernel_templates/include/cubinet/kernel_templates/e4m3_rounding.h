// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rounding to e4m3 where no instruction does it. Compiled by the host's compiler and by NVRTC.
#include <cubinet/kernel_templates/parameter_layout.h>

namespace cubinet::kernel_templates {

// The e4m3 that is nearest to a float given by its bits, to nearest even; what is out of range
// becomes +-448, NaN 0x7f: what cvt.rn.satfinite.e4m3x2.f32 does from sm_89 on.
CUBINET_BOTH_SIDES inline unsigned rounded_to_e4m3(unsigned bits) {
  const unsigned sign = bits >> 24 & 0x80u;
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fu;
  if (magnitude >= 0x43e00000u) return sign | 0x7eu;  // 448
  unsigned value = magnitude;
  unsigned dropped = 20;  // bits of the mantissa
  if (magnitude < 0x3c800000u) {
    // Below 2^-6 steps are of 2^-9, and below half of one nothing is left.
    dropped = 141u - (magnitude >> 23);
    if (dropped > 24u) return sign;
    value = (magnitude & 0x7fffffu) | 0x800000u;
  }
  const unsigned rounded = (value + (1u << (dropped - 1u)) - 1u + (value >> dropped & 1u)) >> dropped;
  return sign | (magnitude < 0x3c800000u ? rounded : rounded - (120u << 3));
}

}  // namespace cubinet::kernel_templates
