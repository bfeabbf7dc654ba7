// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published_launch.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace cubinet {

// Returns the blocks of the kernel that writes the log-sum-exp.
std::uint64_t lse_blocks(const AttentionProblem& problem);

// What follows a published kernel, in kernels of ours (templates attention_reduction and attention_lse): the
// reduction of partial results, where the kernel leaves that to a launch of its own, and the log-sum-exp,
// where the problem wants it. They are compiled when they are bound.
std::vector<PlanStep> following_steps(const std::shared_ptr<const PublishedLaunch>& launch);

}  // namespace cubinet
