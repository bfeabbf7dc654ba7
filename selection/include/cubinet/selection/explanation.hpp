// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_table/column.hpp>
#include <cubinet/selection/selection.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cubinet {

// A row that is almost what was wanted.
struct NearMiss {
  const KernelRow* row = nullptr;  // of the index's rows
  bool runs_here = false;          // its target runs on the device
  std::vector<ColumnDifference> differences;

  // "fmha… (sm_100f): tokens_per_page 32 instead of 48; sm_100f code runs …", the rule of
  // why_not_on
  std::string to_string(ComputeCapability device) const;
};

// The rows with the fewest differences from `wanted`, those for other devices behind equals that run here.
// Looks at every row of the table.
std::vector<NearMiss> nearest_rows(const KernelIndex& index, const KernelSelector& wanted, std::size_t limit);

// One sentence on a selection that found nothing: the problem, and what was looked for first.
std::string miss_reason(const AttentionProblem& problem, const DeviceFacts& device,
                        const Selection& selection);

// Why this kernel, or why none: one sentence a line, the outcome first.
std::vector<std::string> explain(const AttentionProblem& problem, const DeviceFacts& device,
                                 const KernelIndex& index, const Selection& selection);

}  // namespace cubinet
