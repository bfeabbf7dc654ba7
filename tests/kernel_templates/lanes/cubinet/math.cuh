// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: the functions that the tested headers call. The lanes of
// a warp (warp.hpp) exchange numbers.
#include "named_barriers.hpp"
#include "qualifiers.hpp"
#include "warp.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's
namespace cubinet {

inline constexpr float kLn2 = 0.693147180559945309f;
inline constexpr float kLog2E = 1.44269504088896341f;
inline constexpr unsigned kAllLanes = 0xffffffffu;

inline float negative_infinity() {
  return -std::numeric_limits<float>::infinity();
}
// Denormals become 0.
inline float exp2_approx(float x) {
  const float y = std::exp2(x);
  return y < std::numeric_limits<float>::min() ? 0.0f : y;
}
inline float log2_approx(float x) {
  return std::log2(x);
}
inline float reciprocal_approx(float x) {
  return 1.0f / x;
}

inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  const volatile float product = a * b;  // a compiler may not fuse it with a sum
  return product;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline unsigned __float_as_uint(float number) {
  return std::bit_cast<unsigned>(number);
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}

inline void keep_in_register(unsigned&) {}
inline unsigned __ballot_sync(unsigned, bool condition) {
  unsigned lanes = 0;
  const std::array<int, kLanes> conditions = Warp::exchange(condition ? 1 : 0);
  for (std::size_t i = 0; i < kLanes; ++i)
    lanes |= static_cast<unsigned>(conditions[i]) << i;
  return lanes;
}
inline int __any_sync(unsigned lanes, bool condition) {
  return __ballot_sync(lanes, condition) != 0 ? 1 : 0;
}
inline int __shfl_sync(unsigned, int number, int lane) {
  return Warp::exchange(number)[static_cast<std::size_t>(lane)];
}
inline int __shfl_up_sync(unsigned, int number, int offset) {
  const auto numbers = Warp::exchange(number);
  const int lane = static_cast<int>(Warp::lane());
  return numbers[static_cast<std::size_t>(lane < offset ? lane : lane - offset)];
}
template <class Number>
Number __shfl_xor_sync(unsigned, Number number, int mask) {
  return Warp::exchange(number)[Warp::lane() ^ static_cast<unsigned>(mask)];
}
inline int __reduce_max_sync(unsigned, int number) {
  const auto numbers = Warp::exchange(number);
  return *std::max_element(numbers.begin(), numbers.end());
}
inline int __reduce_add_sync(unsigned, int number) {
  const auto numbers = Warp::exchange(number);
  return std::accumulate(numbers.begin(), numbers.end(), 0);
}
template <int Width>
float lanes_sum(float number) {
  for (int offset = Width / 2; offset > 0; offset /= 2)
    number += __shfl_xor_sync(kAllLanes, number, offset);
  return number;
}
template <int Width>
float lanes_max(float number) {
  for (int offset = Width / 2; offset > 0; offset /= 2)
    number = std::max(number, __shfl_xor_sync(kAllLanes, number, offset));
  return number;
}

inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1;
}
// Returns the bytes of both words that the digits of `selector` name, from the lowest.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(high) << 32 | low;
  unsigned chosen = 0;
  for (unsigned i = 0; i < 4; ++i)
    chosen |= static_cast<unsigned>(bytes >> (selector >> (4 * i) & 7) * 8 & 0xff) << (8 * i);
  return chosen;
}
inline void __syncwarp() {
  Warp::exchange(0);
}
using std::fabs;
using std::fmaf;
using std::fmaxf;

constexpr int divide_up(int a, int b) {
  return (a + b - 1) / b;
}
constexpr int round_up(int a, int b) {
  return divide_up(a, b) * b;
}
constexpr int power_of_two(int a) {
  return a < 2 ? 1 : 2 * power_of_two(a / 2);
}
constexpr int minimum(int a, int b) {
  return std::min(a, b);
}
constexpr int maximum(int a, int b) {
  return std::max(a, b);
}

}  // namespace cubinet
// NOLINTEND(bugprone-reserved-identifier)
