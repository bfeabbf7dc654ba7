// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <unistd.h>
#include <vector>

namespace cubinet::test {

// What a loop over everything takes of it: one of `stride`, from a start that is another each time, so that
// many runs see all; all at once where CUBINET_TEST_EVERY is set.
struct Sampling {
  std::size_t start;
  std::size_t stride;
};
inline Sampling one_of_each(std::size_t stride) {
  if (std::getenv("CUBINET_TEST_EVERY") != nullptr) stride = 1;
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

}  // namespace cubinet::test
