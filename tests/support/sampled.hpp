// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

namespace cubinet::test {

inline bool at_full_size() {
  return std::getenv("CUBINET_TEST_EVERY") != nullptr;
}

// What a loop over everything takes of it: one of `stride`, from a start that is another each time, so that
// many runs see all; all at once where CUBINET_TEST_EVERY is set, or "2/8", say, the second of eight
// processes' part.
struct Sampling {
  std::size_t start;
  std::size_t stride;
};
inline Sampling one_of_each(std::size_t stride) {
  if (const char* every = std::getenv("CUBINET_TEST_EVERY")) {
    std::size_t part = 1, parts = 1;
    if (std::sscanf(every, "%zu/%zu", &part, &parts) != 2 || part == 0 || parts < part) part = parts = 1;
    return {part - 1, parts};
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid())) * 0x9e3779b97f4a7c15U;
  return {(mixed >> 32U) % stride, stride};
}

// The positions below `size` at which a loop over every byte, bit or length of something damages it.
inline std::vector<std::size_t> sampled(std::size_t size, std::size_t stride) {
  const Sampling sampling = one_of_each(stride);
  std::vector<std::size_t> positions;
  for (std::size_t at = sampling.start; at < size; at += sampling.stride)
    positions.push_back(at);
  return positions;
}

// What the byte at a position is changed by (exclusive or), one after the other: so many changes, or `all` at
// full size, of which there are 255. The first eight are of one bit.
inline std::vector<std::byte> changes(std::size_t position, std::size_t few, std::size_t all = 255) {
  std::vector<std::byte> masks;
  for (std::size_t bit = 0; bit < 8; ++bit)
    masks.push_back(static_cast<std::byte>(1U << ((position + bit) % 8)));
  for (unsigned mask = 1; mask < 256; ++mask) {
    if ((mask & (mask - 1)) != 0) masks.push_back(static_cast<std::byte>(mask));
  }
  masks.resize(at_full_size() ? all : few);
  return masks;
}

}  // namespace cubinet::test
