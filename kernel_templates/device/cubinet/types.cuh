// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element types of the kernel templates. They only hold bits, so a template needs no CUDA header:
// cuda_fp16.h and cuda_bf16.h cost more front-end time than a whole small kernel.
#include <cubinet/kernel_templates/e4m3_rounding.h>

namespace cubinet {

struct bf16 {
  unsigned short bits;
};

struct fp16 {
  unsigned short bits;
};

using fp32 = float;
using fp64 = double;
using int8 = signed char;
using int16 = short;
using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned;
using uint64 = unsigned long long;

struct e4m3 {
  unsigned char bits;
};

struct e5m2 {
  unsigned char bits;
};

template <typename A, typename B>
inline constexpr bool is_same = false;
template <typename A>
inline constexpr bool is_same<A, A> = true;

// A tag for e2m1: two elements share a byte, so one element has no size and no address.
struct e2m1;

// Returns two values rounded to nearest even; the first is in the low half.
template <typename T>
__device__ inline unsigned pack2(float low, float high);

template <>
__device__ inline unsigned pack2<bf16>(float low, float high) {
  unsigned packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

template <>
__device__ inline unsigned pack2<fp16>(float low, float high) {
  unsigned packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// Returns the maxima of two pairs of fp16. If one of two values is NaN, the other one is the
// result.
__device__ inline unsigned larger_fp16_pair(unsigned a, unsigned b) {
  unsigned larger;
  asm("max.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  return larger;
}

// Returns four values rounded to nearest even; the first is in the lowest byte. Values out of range
// become +-448.
__device__ inline unsigned pack4_e4m3(const float* values) {
#if __CUDA_ARCH__ >= 890
  unsigned packed;
  asm("{.reg .b16 lo, hi; cvt.rn.satfinite.e4m3x2.f32 lo, %2, %1; cvt.rn.satfinite.e4m3x2.f32 hi, %4, %3; "
      "mov.b32 %0, {lo, hi};}"
      : "=r"(packed)
      : "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]));
  return packed;
#else
  unsigned bytes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    bytes[i] = kernel_templates::rounded_to_e4m3(__float_as_uint(values[i]));
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
#endif
}

// Returns the two values of a word; x is the low half.
template <typename T>
__device__ inline float2 unpack2(unsigned packed);

template <>
__device__ inline float2 unpack2<bf16>(unsigned packed) {
  return make_float2(__uint_as_float(packed << 16), __uint_as_float(packed & 0xffff0000u));
}

template <>
__device__ inline float2 unpack2<fp16>(unsigned packed) {
  float2 values;
  asm("{.reg .b16 lo, hi; mov.b32 {lo, hi}, %2; cvt.f32.f16 %0, lo; cvt.f32.f16 %1, hi;}"
      : "=f"(values.x), "=f"(values.y)
      : "r"(packed));
  return values;
}

// Unpacks and packs 16-byte vectors of kElements elements of T.
template <typename T>
struct Vector16 {
  static constexpr int kElements = 16 / int{sizeof(T)};

  __device__ static void unpack(const uint4& bits, float* values) {
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = unpack2<T>(words[i]);
      values[2 * i] = pair.x;
      values[2 * i + 1] = pair.y;
    }
  }

  __device__ static uint4 pack(const float* values) {
    return make_uint4(pack2<T>(values[0], values[1]), pack2<T>(values[2], values[3]),
                      pack2<T>(values[4], values[5]), pack2<T>(values[6], values[7]));
  }
};

template <>
struct Vector16<fp32> {
  static constexpr int kElements = 4;

  __device__ static void unpack(const uint4& bits, float* values) {
    values[0] = __uint_as_float(bits.x);
    values[1] = __uint_as_float(bits.y);
    values[2] = __uint_as_float(bits.z);
    values[3] = __uint_as_float(bits.w);
  }

  __device__ static uint4 pack(const float* values) {
    return make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                      __float_as_uint(values[3]));
  }
};

}  // namespace cubinet
