// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace cubinet::cli {

// What a resolution decided, as JSON and as lines for people: the decision, who declined and why, the trace.
nlohmann::json describe(const AttentionProblem& problem);
nlohmann::json describe(const AttentionPlan& plan);
nlohmann::json describe_declines(const AttentionResolution& resolution);
// The nearest rows that a report names.
inline constexpr std::size_t kNearestShown = 3;
nlohmann::json describe(const NearMiss& miss, ComputeCapability device);

// One sentence on the kernel and its launch.
std::string summary_of(const AttentionPlan& plan);
// What was weighed, a sentence each.
std::vector<std::string> trace_of(const AttentionPlan& plan);

}  // namespace cubinet::cli
