// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch_configuration.hpp"

#include <cubinet/attention/operation.hpp>

#include <cstdint>

namespace cubinet {

// From the statistics of partial results, two fp32 a row, to the partial outputs: the kernel itself puts
// these behind as many rows as all multiprocessors take at once, however many blocks run.
std::uint64_t partial_stats_bytes(const KernelFacts& kernel, std::uint32_t sm_count);

// REQUIRES: `launch` is configure_launch's for the same problem and kernel.
WorkspaceSizes workspace_sizes(const AttentionProblem& problem, const KernelFacts& kernel,
                               const LaunchConfiguration& launch, std::uint32_t sm_count,
                               bool keeps_stats_of_ragged);

}  // namespace cubinet
