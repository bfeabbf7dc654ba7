// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/kernel_explanation.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace cubinet {

// Returns one sentence: which build is used, or what would be compiled, or why neither is possible.
std::string reason_of(const KernelExplanation& explanation);
// Returns the JSON of an explanation. `fix` says how to obtain the kernel; it may be empty.
nlohmann::json describe(const KernelExplanation& explanation, const std::string& fix);
// Returns {"prefer_family", "forbidden", "pinned"}. "pinned" is null if there is none.
nlohmann::json describe(const TargetPolicy& policy);

}  // namespace cubinet
