// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: the element types that the tested headers name.
#include <cubinet/kernel_templates/e4m3_rounding.h>

#include <bit>

namespace cubinet {

struct bf16 {
  unsigned short bits;
};

struct fp16 {
  unsigned short bits;
};

using fp32 = float;

struct e4m3 {
  unsigned char bits;
};

template <typename A, typename B>
inline constexpr bool is_same = false;
template <typename A>
inline constexpr bool is_same<A, A> = true;

// Rounds to nearest even. NaN has its payload in the upper half.
inline unsigned rounded_to_bf16(float number) {
  const auto bits = std::bit_cast<unsigned>(number);
  return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
inline float float_of_bf16(unsigned bits) {
  return std::bit_cast<float>(bits << 16);
}

// Returns two values; the first is in the low half.
template <typename T>
unsigned pack2(float low, float high);
template <>
inline unsigned pack2<bf16>(float low, float high) {
  return rounded_to_bf16(low) | rounded_to_bf16(high) << 16;
}
inline unsigned pack4_e4m3(const float* values) {
  unsigned bytes = 0;
  for (int i = 3; i >= 0; --i)
    bytes = bytes << 8 | kernel_templates::rounded_to_e4m3(std::bit_cast<unsigned>(values[i]));
  return bytes;
}

template <typename T>
struct Vector16;

}  // namespace cubinet
