// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>
#include <cubinet/base/result.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

// Checks that the reference can compute a problem with these lengths. Returns invalid_argument for
// an invalid problem, and unsupported for a feature that the reference would ignore.
Result<void> check_reference(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths);

}  // namespace cubinet
