// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace cubinet::cli {

// Returns contiguous tensors for a plan's problem at unused addresses: those of the recorded
// launches (tests/attention/goldens/README.md), or those in `addresses` ("k=0x7f0000000000").
// Returns invalid_argument for an unknown name or a wrong number.
Result<AttentionTensors> made_up_tensors(const AttentionPlan& plan,
                                         const std::vector<std::string>& addresses);

// Returns the data that run() would pass to the driver: the plan's launches with their arguments,
// and the inputs from which tensor maps are encoded. The tensor maps in the arguments are zero.
// REQUIRES: plan.launchable().
nlohmann::json launch_record(const AttentionPlan& plan, const AttentionTensors& tensors);

}  // namespace cubinet::cli
