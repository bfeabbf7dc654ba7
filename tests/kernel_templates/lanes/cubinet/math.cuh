// SPDX-License-Identifier: Apache-2.0
#pragma once
// In place of the device library's header: the functions that the tested headers call. The lanes of
// a warp (warp.hpp) exchange numbers.
#include "warp.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's
#define __device__
#define __host__

namespace cubinet {

inline void keep_in_register(unsigned&) {}
inline constexpr unsigned kAllLanes = 0xffffffffu;
inline unsigned __ballot_sync(unsigned, bool condition) {
  unsigned lanes = 0;
  const std::array<int, kLanes> conditions = Warp::exchange(condition ? 1 : 0);
  for (std::size_t i = 0; i < kLanes; ++i)
    lanes |= static_cast<unsigned>(conditions[i]) << i;
  return lanes;
}
inline int __shfl_sync(unsigned, int number, int lane) {
  return Warp::exchange(number)[static_cast<std::size_t>(lane)];
}
inline int __shfl_up_sync(unsigned, int number, int offset) {
  const auto numbers = Warp::exchange(number);
  const int lane = static_cast<int>(threadIdx.x);
  return numbers[static_cast<std::size_t>(lane < offset ? lane : lane - offset)];
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
  static_assert(Width == kLanes);
  const auto numbers = Warp::exchange(number);
  return std::accumulate(numbers.begin(), numbers.end(), 0.0f);
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
inline void __syncwarp() {}
using std::fmaxf;

constexpr int divide_up(int a, int b) {
  return (a + b - 1) / b;
}
constexpr int minimum(int a, int b) {
  return std::min(a, b);
}
constexpr int maximum(int a, int b) {
  return std::max(a, b);
}

}  // namespace cubinet
// NOLINTEND(bugprone-reserved-identifier)
