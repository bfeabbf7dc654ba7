// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: the element types that the tested headers name.
#include <cubinet/kernel_templates/e4m3_rounding.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

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

// Rounds to nearest even.
inline unsigned rounded_to_fp16(float number) {
  const auto bits = std::bit_cast<unsigned>(number);
  const unsigned sign = bits >> 16 & 0x8000u;
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fffu;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u)  // below 2^-14, steps of 2^-24
    return sign | static_cast<unsigned>(std::nearbyint(std::ldexp(std::fabs(number), 24)));
  return sign | (((magnitude + 0xfffu + (magnitude >> 13 & 1)) >> 13) - (112u << 10));
}
inline const std::array<float, 1 << 15> kFp16Magnitudes = [] {
  std::array<float, 1 << 15> all;
  for (unsigned i = 0; i < all.size(); ++i) {
    const unsigned exponent = i >> 10;
    all[i] = exponent == 31  ? (i == 0x7c00u ? INFINITY : NAN)
             : exponent == 0 ? std::ldexp(static_cast<float>(i), -24)
                             : std::bit_cast<float>((i + (112u << 10)) << 13);
  }
  return all;
}();
inline float float_of_fp16(unsigned bits) {
  const float magnitude = kFp16Magnitudes[bits & 0x7fffu];
  return (bits & 0x8000u) == 0 ? magnitude : -magnitude;
}

inline float float_of_e4m3(unsigned bits) {
  const unsigned exponent = bits >> 3 & 15;
  const auto mantissa = static_cast<float>(bits & 7);
  const float magnitude = (bits & 0x7f) == 0x7f ? NAN
                          : exponent == 0       ? std::ldexp(mantissa, -9)
                                                : std::ldexp(8 + mantissa, static_cast<int>(exponent) - 10);
  return (bits & 0x80) == 0 ? magnitude : -magnitude;
}

// Returns two values; the first is in the low half.
template <typename T>
unsigned pack2(float low, float high);
template <>
inline unsigned pack2<bf16>(float low, float high) {
  return rounded_to_bf16(low) | rounded_to_bf16(high) << 16;
}
template <>
inline unsigned pack2<fp16>(float low, float high) {
  return rounded_to_fp16(low) | rounded_to_fp16(high) << 16;
}
inline unsigned pack4_e4m3(const float* values) {
  unsigned bytes = 0;
  for (int i = 3; i >= 0; --i)
    bytes = bytes << 8 | kernel_templates::rounded_to_e4m3(std::bit_cast<unsigned>(values[i]));
  return bytes;
}

template <typename T>
float2 unpack2(unsigned packed);
template <>
inline float2 unpack2<bf16>(unsigned packed) {
  return {float_of_bf16(packed & 0xffffu), float_of_bf16(packed >> 16)};
}

// Unpacks and packs 16-byte vectors of kElements elements of T.
template <typename T>
struct Vector16 {
  static constexpr int kElements = 16 / int{sizeof(T)};

  static void unpack(const uint4& bits, float* values) {
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
    for (int i = 0; i < 4; ++i) {
      const float2 pair = unpack2<T>(words[i]);
      values[2 * i] = pair.x;
      values[2 * i + 1] = pair.y;
    }
  }
  static uint4 pack(const float* values) {
    return {pack2<T>(values[0], values[1]), pack2<T>(values[2], values[3]), pack2<T>(values[4], values[5]),
            pack2<T>(values[6], values[7])};
  }
};
template <>
struct Vector16<fp32> {
  static constexpr int kElements = 4;

  static void unpack(const uint4& bits, float* values) { std::memcpy(values, &bits, sizeof(bits)); }
  static uint4 pack(const float* values) {
    uint4 bits;
    std::memcpy(&bits, values, sizeof(bits));
    return bits;
  }
};

}  // namespace cubinet
