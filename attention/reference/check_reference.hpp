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

// Checks the query tokens of each sequence: there are none without ragged_q. Returns
// invalid_argument if they do not fit the problem.
Result<void> check_q_lengths(const AttentionProblem& problem, const std::vector<std::int32_t>& q_lengths);

}  // namespace cubinet
