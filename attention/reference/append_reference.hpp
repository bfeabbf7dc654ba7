// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/reference.hpp>

namespace cubinet {

// append_reference() on the inputs themselves. REQUIRES: they fit the problem.
void append_new_rows(const AttentionProblem& problem, AttentionInputs& inputs);

}  // namespace cubinet
