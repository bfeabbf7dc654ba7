// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/shared_prefix.hpp>

#include <cstdint>

namespace cubinet {

// The problems of which attention over shared prefixes consists.
struct SharedPrefixParts {
  AttentionProblem prefix;  // as generation; the same with `prefill` is served by prefill kernels
  AttentionProblem own;
  AttentionMerge::Problem merge;
};

// Returns the maximum number of query tokens of all sequences.
std::uint64_t most_tokens(const SharedPrefixProblem& problem);

// REQUIRES: check_shared_prefix holds.
SharedPrefixParts shared_prefix_parts(const SharedPrefixProblem& problem);

}  // namespace cubinet
