// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/merge.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/session/checked_attention.hpp>

#include <cstdint>

namespace cubinet {

struct CheckedMergeOptions {
  std::uint32_t tokens = 64;
  int device = 0;
  std::uint64_t seed = 1;  // of the random parts
  int replays = 20;        // to time
};

// A merge that was run on a device, compared with its definition and timed.
struct CheckedMerge {
  DeviceProperties device;
  AttentionVerdict verdict;
  double seconds = 0;  // the median of one run (median_replay)
  double bytes = 0;    // that a run reads and writes
};

// Binds the merge and runs it with random parts. Returns unavailable if the memory of the host or
// the device does not suffice, and the errors of AttentionMerge::bind.
Result<CheckedMerge> run_checked_merge(Runtime& runtime, const AttentionMerge::Problem& problem,
                                       const CheckedMergeOptions& options);

}  // namespace cubinet
