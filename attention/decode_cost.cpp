// SPDX-License-Identifier: Apache-2.0
#include "decode_cost.hpp"

#include <algorithm>

namespace cubinet {
namespace {

// Measured on an H200 (132 multiprocessors, 4.4 TB/s read by a streaming kernel); bytes a microsecond.
constexpr double kMemoryRatePerMultiprocessor = 33.3e3;  // all of them reading
constexpr double kMultiprocessorRate = 75e3;             // one of a few that read
constexpr double kBlockRate = 52e3;                      // one block alone, however deep its ring
constexpr double kLatency = 1.25;                        // a ring's bytes arrive in this time, at best
constexpr double kStart = 1.0;
constexpr double kReduction = 5.0;           // a second kernel after the first has drained
constexpr double kReductionPerSplit = 0.08;  // partial results to read back
constexpr double kEmptyBlock = 0.6;          // to be scheduled, read a length, end

// Blocks that all run at once, `spread` of them on a multiprocessor.
double wave(const DecodeLaunch& launch, double blocks, double bytes, double multiprocessors) {
  const double block_rate = std::min(kBlockRate, launch.ring_bytes / kLatency);
  const double rate = std::min({launch.multiprocessors * kMemoryRatePerMultiprocessor,
                                multiprocessors * kMultiprocessorRate, blocks * block_rate});
  return rate > 0 ? bytes / rate : 0;
}

}  // namespace

double estimate_microseconds(const DecodeLaunch& launch) {
  const std::int64_t slots = std::int64_t{launch.multiprocessors} * launch.blocks_per_multiprocessor;
  const std::int64_t full_waves = launch.blocks / slots;
  const std::int64_t rest = launch.blocks % slots;
  const double block_bytes = launch.blocks > 0 ? launch.bytes / static_cast<double>(launch.blocks) : 0;
  const double slot_count = static_cast<double>(slots);

  double time = static_cast<double>(full_waves) *
                wave(launch, slot_count, block_bytes * slot_count, launch.multiprocessors);
  if (rest > 0) {
    // A first wave is spread over the multiprocessors; in a later one, blocks that end together make room for
    // their successors on the same one.
    const std::int64_t busy =
        full_waves == 0 ? std::min<std::int64_t>(rest, launch.multiprocessors)
                        : (rest + launch.blocks_per_multiprocessor - 1) / launch.blocks_per_multiprocessor;
    time += wave(launch, static_cast<double>(rest), block_bytes * static_cast<double>(rest),
                 static_cast<double>(busy));
  }
  time = std::max(time, wave(launch, 1, launch.largest_block_bytes, 1));
  time += kStart + kEmptyBlock * static_cast<double>(launch.empty_blocks) / slot_count;
  if (launch.splits > 1) time += kReduction + kReductionPerSplit * launch.splits;
  return time;
}

}  // namespace cubinet
