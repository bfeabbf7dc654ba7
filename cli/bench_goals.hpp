// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_report.hpp"

#include <cubinet/base/result.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// What a measured row is to reach, as `--goal` of its case says it:
//   read:0.95       the kernel that only reads K and V takes at least 0.95 of its time
//   us:475          microseconds, at most
//   teraflops:527   at least
//   row:TAG:1.15    at most 1.15 times what the one row before it with this tag takes
//   peer:NAME:0.9   at most 0.9 times what this peer takes, in the same rounds
//   error:NAME:1.1  over the whole output at most 1.1 times as far from float64 as this peer, of the same
//   inputs
// Fills in `goals` of every row. A goal that cannot be judged, since there is no time, is missed.
void judge_goals(std::vector<BenchRow>& rows);

// invalid_argument for what is no goal, or names no one case before its own.
Result<void> check_goals(const std::vector<BenchCase>& cases);

// "2 of 20 goals are missed: …", a line each; empty where there are none.
std::string summary_of_goals(const std::vector<BenchRow>& rows);

}  // namespace cubinet::cli
