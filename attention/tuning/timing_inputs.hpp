// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/attention/reference.hpp>

namespace cubinet {

// Returns inputs whose values matter only for the power draw: random and of moderate size, pages in
// shuffled order, all sequences of kv_len tokens. K and V have a fixed number of elements, which
// TensorBuffers repeats, so host memory and time do not depend on the size of the cache. REQUIRES:
// check_problem(problem) holds, and no append.
AttentionInputs timing_inputs(const AttentionProblem& problem);

// Returns the same with V of ones. An element of the output is then the sum of a row's weights,
// divided by it, and shows what the sum has lost. REQUIRES: the same.
AttentionInputs inputs_with_v_of_ones(const AttentionProblem& problem);

// Returns whether a plan multiplies weights of 8 bits, whose sums tensor cores may cut: that of
// prefill attention with Q of 8 bits. It also serves generation of many rows.
bool sums_may_differ(const AttentionPlan& plan);

}  // namespace cubinet
