// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/merge.hpp>
#include <cubinet/attention/operation.hpp>
#include <cubinet/attention/problem.hpp>
#include <cubinet/attention/shared_prefix.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubinet.h>

#include <variant>

namespace cubinet::c_api {

// Convert the C structures of attention. Return invalid_argument with the member for a value that
// the header does not define. Whether the problem is one that a kernel serves is checked later.
Result<AttentionProblem> problem_of(const cubinet_attention_problem* problem);
// Returns the problem with its shared prefixes if the caller has groups.
Result<std::variant<AttentionProblem, SharedPrefixProblem>> any_problem_of(
    const cubinet_attention_problem* problem);
Result<PlanOptions> plan_options_of(const cubinet_plan_options* options);
Result<AttentionMerge::Problem> merge_problem_of(const cubinet_merge_problem* problem);
// Compare the types that the tensors state with those of the problem. Allocate nothing on success.
Result<AttentionMerge::Tensors> merge_tensors_of(const cubinet_merge_tensors* tensors,
                                                 const AttentionMerge::Problem& problem);
Result<AttentionTensors> tensors_of(const cubinet_attention_tensors* tensors,
                                    const AttentionProblem& problem);
Result<SharedPrefixAttention::Tensors> shared_tensors_of(const cubinet_attention_tensors* tensors,
                                                         const SharedPrefixProblem& problem);

}  // namespace cubinet::c_api
