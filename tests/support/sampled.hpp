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

// The part of a loop that is run: one of `stride` iterations, with a different start each time, so
// that many runs cover all. Runs all iterations if CUBINET_TEST_EVERY is set. A value such as "2/8"
// runs the part of the second of eight processes.
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

// Returns the positions below `size` at which a loop over every byte, bit or length damages
// something.
inline std::vector<std::size_t> sampled(std::size_t size, std::size_t stride) {
  const Sampling sampling = one_of_each(stride);
  std::vector<std::size_t> positions;
  for (std::size_t at = sampling.start; at < size; at += sampling.stride)
    positions.push_back(at);
  return positions;
}

// Returns the changes (exclusive or) to apply to the byte at a position, one after the other: `few`
// changes, or `all` in a full run, of which there are at most 255. The first eight change one bit.
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
