// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Return the description of the problem and the device in a row of a tuning table. The problem
// includes everything that affects the available kernels or their times. It excludes batch, KV
// length and known lengths, and everything that affects no choice: scales, sinks, the log-sum-exp,
// the append.
std::string tuning_problem(const AttentionProblem& problem);
std::string tuning_device(std::string_view name, const DeviceFacts& device);

// Returns the problem with the longest KV, and the longest window, that a row measured with
// `problem` serves. All its sequences are that long. It has fewer sequences, if there are several,
// so that the cache does not grow.
AttentionProblem longest_served(AttentionProblem problem);

// Returns the options to plan a row's choice with. The row's splits are used if all sequences are
// known to be long. Otherwise the backend divides the work of the row's kernel.
PlanOptions options_of(const TuningTable::Row& row, const PlanRequest& request);

// Returns, for example, "measured 2026-11-22 on NVIDIA H200, …, driver 13.0: 41.5 us instead of
// 44.3".
std::string describe(const TuningTable::Row& row);

// Returns the plan that was measured to be the fastest for this problem, or for the nearest one of
// its bucket. Returns nullopt if there is no valid measurement. Adds the reason for each
// measurement that is no longer valid to `passed_over`.
std::optional<AttentionPlan> tuned_plan(const PlanRequest& request, const AttentionBackends& backends,
                                        std::vector<std::string>& passed_over);

}  // namespace cubinet
