// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published_launch.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace cubinet {

// Returns the blocks of the kernel that writes the log-sum-exp.
std::uint64_t lse_blocks(const AttentionProblem& problem);

// Returns the steps that follow a published kernel, in kernels of ours (templates
// attention_reduction and attention_lse): the reduction of partial results, if the kernel leaves
// that to a separate launch, and the log-sum-exp, if the problem requests it. They are compiled
// when they are bound.
std::vector<PlanStep> following_steps(const std::shared_ptr<const PublishedLaunch>& launch);

}  // namespace cubinet
