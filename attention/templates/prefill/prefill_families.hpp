// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefill_family.hpp"

#include <vector>

namespace cubinet {

// Returns all families in the order in which they are queried: preferred ones first.
std::vector<const PrefillFamily*> prefill_families(const AttentionProblem& problem, ComputeCapability device);

}  // namespace cubinet
