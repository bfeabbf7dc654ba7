// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// What a row of a tuning table says of its problem and its device. All that changes which kernels there are
// or what they take is in it; batch, KV length and lengths that are known are not, nor what changes no
// choice: scales, sinks, the log-sum-exp, the append.
std::string tuning_problem(const AttentionProblem& problem);
std::string tuning_device(std::string_view name, const DeviceFacts& device);

// The options with which a row's choice is planned. The splits of a row are those of its batch, where all
// sequences are known to be long: otherwise the backend divides the work, of the row's kernel.
PlanOptions options_of(const TuningTable::Row& row, const PlanRequest& request);

// "measured 2026-11-22 on NVIDIA H200, …, driver 13.0: 41.5 us instead of 44.3".
std::string describe(const TuningTable::Row& row);

// The plan that was measured to be the fastest for this problem, or for the nearest of its bucket; nullopt
// where nothing was measured, or nothing that holds today. What was measured and does not hold is told in
// `passed_over`.
std::optional<AttentionPlan> tuned_plan(const PlanRequest& request, const AttentionBackends& backends,
                                        std::vector<std::string>& passed_over);

}  // namespace cubinet
