// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <memory>

namespace cubinet {

// A backend's answer, with the append, where the problem has one, in front of its steps. The first of them
// then starts early, as all steps behind another do: what starts as the request says is the append.
Result<Consideration> consider(const AttentionBackend& backend, const PlanRequest& request);

// Who plans what does nothing but append.
std::shared_ptr<const AttentionBackend> append_alone();

}  // namespace cubinet
