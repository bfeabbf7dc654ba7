// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

namespace cubinet {

// Applies append_reference() to the inputs in place. REQUIRES: the inputs fit the problem.
void append_new_rows(const AttentionProblem& problem, AttentionInputs& inputs);

}  // namespace cubinet
