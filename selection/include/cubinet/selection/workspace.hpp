// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/selection/attention_problem.hpp>
#include <cubinet/selection/launch_configuration.hpp>

#include <cstdint>
#include <span>

namespace cubinet {

// Device memory that a launch needs, in bytes. Both buffers belong to the caller and are aligned to
// kWorkspaceAlignment.
//
// Contract of the counters: zero before the first launch that uses them; every kernel leaves them zero, so
// they are never cleared again. Streams that run at once need counters of their own. The scratch buffer has
// no such state: its content before and after a launch means nothing.
struct WorkspaceSizes {
  std::uint64_t counter_bytes = 0;
  std::uint64_t partial_stats_offset = 0;  // in the scratch buffer
  std::uint64_t partial_stats_bytes = 0;   // float2 (maximum, sum) a row of a partial result
  std::uint64_t partial_output_offset = 0;
  std::uint64_t partial_output_bytes = 0;
  std::uint64_t scratch_bytes = 0;  // all of it

  friend bool operator==(const WorkspaceSizes&, const WorkspaceSizes&) = default;
};

inline constexpr std::uint64_t kWorkspaceAlignment = 256;

// REQUIRES: `launch` is configure_launch's for the same problem and kernel.
WorkspaceSizes workspace_sizes(const AttentionProblem& problem, const KernelFacts& kernel,
                               const LaunchConfiguration& launch, std::uint32_t sm_count);

// (maximum, sum) of every row, for callers that want the log-sum-exp: 8 bytes a head and token, with the
// tokens of a sequence rounded up to 256 as the kernels write them.
std::uint64_t softmax_stats_bytes(const AttentionProblem& problem);

// invalid_argument that names the buffer, its size and what is needed.
Result<void> check_workspace(const WorkspaceSizes& needed, std::uint64_t counter_bytes,
                             std::uint64_t scratch_bytes);

// Whether counters, copied from the device, are what the contract says.
bool counters_are_reset(std::span<const std::uint32_t> counters);

}  // namespace cubinet
