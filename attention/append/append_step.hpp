// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <memory>

namespace cubinet {

// Returns a backend's answer, with the append, if the problem has one, in front of its steps. The
// backend's first step then starts early, like all later steps. The request's `starts_early`
// applies to the append.
Result<PlanDecision> consider(const AttentionBackend& backend, const PlanRequest& request);

// Returns the planner of problems that only append.
std::shared_ptr<const AttentionBackend> append_alone();

}  // namespace cubinet
