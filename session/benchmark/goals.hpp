// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/session/benchmark.hpp>

#include <vector>

namespace cubinet {

// Fills in BenchmarkRow::goals of every row.
void judge_goals(std::vector<BenchmarkRow>& rows);

// Returns invalid_argument for a text that is not a goal, and for a goal that does not name exactly
// one earlier case.
Result<void> check_goals(const std::vector<BenchmarkCase>& cases);

}  // namespace cubinet
