// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>

namespace cubinet {

// Returns the strides and scalars for contiguous tensors in the order of the problem. Sets no
// addresses.
Result<kernel_templates::AttentionPrefillParameters> prefill_parameters(const AttentionProblem& problem);

}  // namespace cubinet
