// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>

#include <cstdint>
#include <string>

namespace cubinet {

// The tokens of a step and of a segment of invariant numerics (docs/arithmetic.md). The device code
// has the same numbers in cubinet/attention/invariant_sizes.cuh.
inline constexpr std::uint32_t kInvariantStep = 64;
inline constexpr std::uint32_t kInvariantSegment = 512;

// Returns one sentence that states why no template has invariant numerics for the problem, or an
// empty string, also if the problem does not ask for them.
std::string invariant_gap(const AttentionProblem& problem);

}  // namespace cubinet
