// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>
#include <cubinet/base/result.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

// Whether the reference computes a problem with these lengths. invalid_argument for one that makes no sense,
// unsupported for a part of it that the reference would ignore.
Result<void> check_reference(const AttentionProblem& problem, const std::vector<std::int32_t>& kv_lengths);

}  // namespace cubinet
