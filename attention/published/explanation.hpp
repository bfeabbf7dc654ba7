// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "selection.hpp"

#include <string>
#include <vector>

namespace cubinet {

// One sentence on a selection that found nothing: the problem, and what was looked for first.
std::string miss_reason(const AttentionProblem& problem, const DeviceFacts& device,
                        const Selection& selection);

// Why this kernel, or why none: one sentence a line, the outcome first.
std::vector<std::string> explain(const AttentionProblem& problem, const DeviceFacts& device,
                                 const KernelIndex& index, const Selection& selection);

}  // namespace cubinet
