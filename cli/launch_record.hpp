// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// Tensors of a plan's problem, contiguous, at addresses that nothing lies at: those of the recorded
// launches (tests/attention/goldens/README.md), or as `addresses` say ("k=0x7f0000000000").
// invalid_argument for a name or number that is none.
Result<AttentionTensors> made_up_tensors(const AttentionPlan& plan,
                                         const std::vector<std::string>& addresses);

// What run() would hand to the driver: the plan's launches with their arguments, tensor maps zero
// in them, and what these maps are encoded from. REQUIRES: plan.launchable().
nlohmann::json launch_record(const AttentionPlan& plan, const AttentionTensors& tensors);

}  // namespace cubinet::cli
