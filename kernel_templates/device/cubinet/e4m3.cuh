// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts 8-bit elements to 16-bit elements for tensor cores. fp16 represents every e4m3 value
// exactly.
#include <cubinet/types.cuh>

namespace cubinet {

// The type that tensor cores multiply for an element type.
template <typename T>
struct ProductOf {
  using Type = T;
};
template <>
struct ProductOf<e4m3> {
  using Type = fp16;
};

// Two pairs of fp16 elements, or of bf16 elements where a function says so.
struct Fp16Pairs {
  unsigned low;   // elements 0 and 1
  unsigned high;  // elements 2 and 3
};

#if __CUDA_ARCH__ >= 890
// The scale of a converted element: value = kE4m3Scale * converted.
inline constexpr float kE4m3Scale = 1.0f;

__device__ inline Fp16Pairs unpack4_e4m3(unsigned bits) {
  Fp16Pairs pairs;
  asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %2; cvt.rn.f16x2.e4m3x2 %0, lo; cvt.rn.f16x2.e4m3x2 %1, hi;}"
      : "=r"(pairs.low), "=r"(pairs.high)
      : "r"(bits));
  return pairs;
}
#else
// Moves sign, exponent and mantissa to their fp16 positions, because the target has no conversion
// instruction. The exponent bias of fp16 is 8 larger, so the result is scaled by 2^-8. NaN becomes
// 480.
inline constexpr float kE4m3Scale = 256.0f;

__device__ inline Fp16Pairs unpack4_e4m3(unsigned bits) {
  const unsigned low = __byte_perm(bits, 0, 0x1404);
  const unsigned high = __byte_perm(bits, 0, 0x3424);
  return {(low & 0x80008000u) | (low >> 1 & 0x3f803f80u), (high & 0x80008000u) | (high >> 1 & 0x3f803f80u)};
}
#endif

// Converts four elements to pairs of bf16 or fp16 without a scale. Both types represent every e4m3
// value exactly.
template <typename T>
struct ExactE4m3;

template <>
struct ExactE4m3<fp16> {
  __device__ static Fp16Pairs unpack4(unsigned bits) {
    Fp16Pairs pairs = unpack4_e4m3(bits);
#if __CUDA_ARCH__ < 890
    constexpr unsigned kScales = 0x5c005c00u;  // 256
    asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(pairs.low) : "r"(kScales));
    asm("mul.rn.f16x2 %0, %0, %1;" : "+r"(pairs.high) : "r"(kScales));
#endif
    return pairs;
  }
};

// Moves sign, exponent and mantissa to their bf16 positions and multiplies by 2^120, the difference
// of the exponent biases. Subnormal numbers stay exact. NaN becomes 480.
template <>
struct ExactE4m3<bf16> {
  __device__ static Fp16Pairs unpack4(unsigned bits) {
    return {scaled(__byte_perm(bits, 0, 0x1404)), scaled(__byte_perm(bits, 0, 0x3424))};
  }

 private:
  // `bytes` holds two elements, each in the high byte of a half.
  __device__ static unsigned scaled(unsigned bytes) {
    constexpr unsigned kScales = 0x7b807b80u;         // 2^120
    constexpr unsigned kNegativeZeros = 0x80008000u;  // the sum with -0 keeps the sign of 0
    unsigned pair = (bytes & 0x80008000u) | (bytes >> 4 & 0x07f007f0u);
    asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(pair) : "r"(kScales), "r"(kNegativeZeros));
    return pair;
  }
};

}  // namespace cubinet
