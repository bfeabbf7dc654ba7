// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/dlpack/tensor_role.hpp>

#include <vector>

namespace cubinet::dlpack {

// Returns the tensors of a run of this problem: the members of cubinet_attention_tensors.
std::vector<TensorRole> attention_roles(const cubinet_attention_problem& problem);
// Returns the tensors of a run of a merge: the members of cubinet_merge_tensors.
std::vector<TensorRole> merge_roles(const cubinet_merge_problem& problem);

}  // namespace cubinet::dlpack
