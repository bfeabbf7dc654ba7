// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch_configuration.hpp"

#include <cubinet/attention/operation.hpp>

#include <cstdint>

namespace cubinet {

// Returns the offset from the statistics of partial results, two fp32 a row, to the partial
// outputs. The kernel itself stores these behind the rows of one wave on all SMs, independent of
// the number of blocks.
std::uint64_t partial_stats_bytes(const KernelFacts& kernel, std::uint32_t sm_count);

// Returns the workspace of a launch. REQUIRES: `launch` is configure_launch's result for the same
// problem and kernel.
WorkspaceSizes workspace_sizes(const AttentionProblem& problem, const KernelFacts& kernel,
                               const LaunchConfiguration& launch, std::uint32_t sm_count,
                               bool keeps_stats_of_ragged);

}  // namespace cubinet
