// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

namespace cubinet {

// Inputs whose values are of no consequence but to the clock: random and of moderate size, pages in shuffled
// order, all sequences of kv_len tokens. K and V are some elements, which TensorBuffers repeats: neither the
// host's memory nor its time goes by the cache. REQUIRES: check_problem(problem) holds, and no append.
AttentionInputs timing_inputs(const AttentionProblem& problem);

}  // namespace cubinet
