// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published/selection.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace cubinet::test {

struct OracleAnswer {
  const KernelRow* row = nullptr;
  std::int64_t kv_splits = 0;
  std::array<std::int64_t, 3> grid = {0, 0, 0};
};

// The rules once more, without an index, encodings or the module's own arithmetic: every question
// is put to every row. Serves tables of family and specific targets, default policies and no
// occupancy oracle.
std::optional<OracleAnswer> brute_force_select(const AttentionProblem& problem, const DeviceFacts& device,
                                               const KernelRows& rows);

// Some row could serve the problem without a split of KV: then there has to be an answer.
bool serves_unsplit(const AttentionProblem& problem, const DeviceFacts& device, const KernelRow& row);

}  // namespace cubinet::test
