// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch_configuration.hpp"

#include <cubinet/attention/operation.hpp>

#include <cstdint>

namespace cubinet {

// REQUIRES: `launch` is configure_launch's for the same problem and kernel.
WorkspaceSizes workspace_sizes(const AttentionProblem& problem, const KernelFacts& kernel,
                               const LaunchConfiguration& launch, std::uint32_t sm_count);

}  // namespace cubinet
