// SPDX-License-Identifier: Apache-2.0
#pragma once
// Single-instruction mathematics and small functions. They need no CUDA header.

namespace cubinet {

inline constexpr float kLn2 = 0.693147180559945309f;
inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr unsigned kAllLanes = 0xffffffffu;  // of a warp

__device__ inline float negative_infinity() {
  return __uint_as_float(0xff800000u);
}

// exp2_approx, log2_approx, rsqrt_approx and reciprocal_approx are one instruction each. Denormals
// become 0 (PTX ISA, ".approx.ftz").
__device__ inline float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float log2_approx(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float rsqrt_approx(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Keeps a value in its register. The compiler would otherwise compute it again at each use.
__device__ inline void keep_in_register(unsigned& value) {
  asm volatile("" : "+r"(value));
}
__device__ inline void keep_in_register(unsigned long long& value) {
  asm volatile("" : "+l"(value));
}

__host__ __device__ constexpr int divide_up(int a, int b) {
  return (a + b - 1) / b;
}
__host__ __device__ constexpr int round_up(int a, int b) {
  return divide_up(a, b) * b;
}
__host__ __device__ constexpr int minimum(int a, int b) {
  return a < b ? a : b;
}
__host__ __device__ constexpr int maximum(int a, int b) {
  return a > b ? a : b;
}

__host__ __device__ constexpr unsigned maximum(unsigned a, unsigned b) {
  return a > b ? a : b;
}

// Returns the largest power of two that is at most `a`.
__host__ __device__ constexpr int power_of_two(int a) {
  return a < 2 ? 1 : 2 * power_of_two(a / 2);
}

// Reduce a value over groups of `Width` adjacent lanes. All lanes of the warp must call them; every
// lane gets the result.
template <int Width>
__device__ inline float lanes_max(float value) {
#pragma unroll
  for (int offset = Width / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  return value;
}

template <int Width>
__device__ inline float lanes_sum(float value) {
#pragma unroll
  for (int offset = Width / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

}  // namespace cubinet
