// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/shared_prefix.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace cubinet {

// Returns the JSON of attention problems and of a planner's decisions.
nlohmann::json describe(const AttentionProblem& problem);
nlohmann::json describe(const AttentionPlan& plan);
// Returns {"own", "prefix": the plans, "merge": the kernel, "time": the estimate of both}.
nlohmann::json describe(const SharedPrefixPlan& plan);
nlohmann::json describe_declines(const AttentionResolution& resolution);  // [{"backend", "reason"}]
// Returns the plan with its problem and device, the requested backend and the declines. REQUIRES: a
// plan.
nlohmann::json describe(const AttentionResolution& resolution);
nlohmann::json describe(const NearMiss& miss, ComputeCapability device);

// Returns one sentence about the kernel and its launch.
std::string summary_of(const AttentionPlan& plan);
// Returns the reasons for the plan, one sentence each.
std::vector<std::string> trace_of(const AttentionPlan& plan);

}  // namespace cubinet
