// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/result.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet {

// The address of a tensor, which has the name of its member in AttentionTensors.
struct TensorAddress {
  std::string tensor;
  std::uint64_t address = 0;
};
// Returns contiguous tensors for a plan's problem. They have the addresses of the recorded launches
// (tests/cli/goldens/README.md), which no device uses, or those in `addresses`. Returns
// invalid_argument for an unknown tensor and for one that no launch reads. REQUIRES:
// plan.launchable().
Result<AttentionTensors> made_up_tensors(const AttentionPlan& plan,
                                         const std::vector<TensorAddress>& addresses);

// Returns the data that run() would pass to the driver: the plan's launches with their arguments,
// and the inputs from which tensor maps are encoded. The tensor maps in the arguments are zero.
// REQUIRES: plan.launchable().
nlohmann::json launch_record(const AttentionPlan& plan, const AttentionTensors& tensors);

}  // namespace cubinet
