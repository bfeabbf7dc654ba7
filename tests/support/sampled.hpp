// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <unistd.h>
#include <vector>

namespace cubinet::test {

// The positions below `size` at which a loop over every byte, bit or length of something damages it: one of `stride`,
// from a start that is another each time, so that many runs see them all; all at once where CUBINET_TEST_EVERY is set.
inline std::vector<std::size_t> sampled(std::size_t size, std::size_t stride) {
  if (std::getenv("CUBINET_TEST_EVERY") != nullptr) stride = 1;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid())) * 0x9e3779b97f4a7c15U;
  std::vector<std::size_t> positions;
  for (std::size_t at = (mixed >> 32U) % stride; at < size; at += stride)
    positions.push_back(at);
  return positions;
}

}  // namespace cubinet::test
