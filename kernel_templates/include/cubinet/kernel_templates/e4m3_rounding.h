// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rounding to e4m3 for devices without an instruction for it. The host's compiler and NVRTC both
// compile this file.
#include <cubinet/kernel_templates/parameter_layout.h>

namespace cubinet::kernel_templates {

// Returns the e4m3 value nearest to a float, which is given by its bits; ties go to even. Values
// out of range become +-448, NaN becomes 0x7f. cvt.rn.satfinite.e4m3x2.f32 gives the same results
// from sm_89 on.
CUBINET_BOTH_SIDES inline unsigned rounded_to_e4m3(unsigned bits) {
  const unsigned sign = bits >> 24 & 0x80u;
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fu;
  if (magnitude >= 0x43e00000u) return sign | 0x7eu;  // 448
  unsigned value = magnitude;
  unsigned dropped = 20;  // bits of the mantissa that e4m3 lacks
  if (magnitude < 0x3c800000u) {
    // Values below 2^-6 have steps of 2^-9. Values below half a step become 0.
    dropped = 141u - (magnitude >> 23);
    if (dropped > 24u) return sign;
    value = (magnitude & 0x7fffffu) | 0x800000u;
  }
  const unsigned rounded = (value + (1u << (dropped - 1u)) - 1u + (value >> dropped & 1u)) >> dropped;
  return sign | (magnitude < 0x3c800000u ? rounded : rounded - (120u << 3));
}

}  // namespace cubinet::kernel_templates
