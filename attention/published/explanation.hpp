// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "selection.hpp"

#include <string>
#include <vector>

namespace cubinet {

// Returns one sentence on a selection without a result: the problem and the first lookup.
std::string miss_reason(const AttentionProblem& problem, const DeviceFacts& device,
                        const Selection& selection);

// Returns the reasons for this kernel, or for the lack of one: one sentence per line, the outcome
// first.
std::vector<std::string> explain(const AttentionProblem& problem, const DeviceFacts& device,
                                 const KernelIndex& index, const Selection& selection);

}  // namespace cubinet
