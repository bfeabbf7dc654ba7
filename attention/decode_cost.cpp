// SPDX-License-Identifier: Apache-2.0
#include "decode_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cubinet {
namespace {

// Measured on an H200 (132 multiprocessors, 4.4 TB/s read by a streaming kernel); bytes a microsecond.
constexpr double kMemoryRatePerMultiprocessor = 33.3e3;  // all of them reading
constexpr double kMultiprocessorRate = 75e3;             // one of a few that read
constexpr double kBlockRate = 52e3;                      // one block alone, however deep its ring
constexpr double kLatency = 1.25;                        // a ring's bytes arrive in this time, at best
constexpr double kImbalance = 0.15;  // of the time, where some multiprocessors have a block more than others
constexpr double kStart = 1.0;
constexpr double kReduction = 5.0;           // a second kernel after the first has drained
constexpr double kReductionPerSplit = 0.08;  // partial results to read back
constexpr double kEmptyBlock = 0.6;          // to be scheduled, read a length, end

// Two limits of one flow: near each other both are felt.
double combined(double a, double b) {
  return a * b / std::pow(std::pow(a, 6) + std::pow(b, 6), 1.0 / 6);
}

// Blocks that all run at once on so many multiprocessors.
double wave(const DecodeLaunch& launch, double blocks, double bytes, double multiprocessors) {
  if (bytes <= 0) return 0;
  const double memory = launch.multiprocessors * kMemoryRatePerMultiprocessor;
  const double readers = std::min(multiprocessors * kMultiprocessorRate,
                                  blocks * std::min(kBlockRate, launch.ring_bytes / kLatency));
  return bytes / combined(memory, readers);
}

// A first wave is spread over the multiprocessors; in a later one, blocks that end together make room for
// their successors on the same one.
double last_wave(const DecodeLaunch& launch, bool first, std::int64_t blocks, double block_bytes) {
  const std::int64_t multiprocessors = launch.multiprocessors;
  const auto divide_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const double count = static_cast<double>(blocks);
  const double bytes = block_bytes * count;
  if (!first) {
    const std::int64_t busy = divide_up(blocks, launch.blocks_per_multiprocessor);
    return wave(launch, count, bytes, static_cast<double>(busy));
  }
  const double unevenness =
      static_cast<double>(divide_up(blocks, multiprocessors) * multiprocessors) / count - 1;
  return wave(launch, count, bytes, static_cast<double>(std::min(blocks, multiprocessors))) *
         (1 + kImbalance * std::min(unevenness, 1.0));
}

}  // namespace

double estimate_microseconds(const DecodeLaunch& launch) {
  const double slots = static_cast<double>(launch.multiprocessors) * launch.blocks_per_multiprocessor;
  const double full_waves = std::floor(launch.blocks / slots);
  const auto rest = static_cast<std::int64_t>(std::fmod(launch.blocks, slots));
  const double block_bytes = launch.blocks > 0 ? launch.bytes / launch.blocks : 0;

  double time = full_waves * wave(launch, slots, block_bytes * slots, launch.multiprocessors);
  if (rest > 0) time += last_wave(launch, full_waves == 0, rest, block_bytes);
  time = std::max(time, wave(launch, 1, launch.largest_block_bytes, 1));
  time += kStart + kEmptyBlock * launch.empty_blocks / slots;
  if (launch.splits > 1) time += kReduction + kReductionPerSplit * launch.splits;
  return time;
}

}  // namespace cubinet
