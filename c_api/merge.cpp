// SPDX-License-Identifier: Apache-2.0
#include "attention_values.hpp"
#include "handles.hpp"
#include "structures.hpp"

using namespace cubinet;
using namespace cubinet::c_api;

cubinet_status cubinet_merge_bind(cubinet_runtime* runtime, const cubinet_merge_problem* problem,
                                  int32_t device, cubinet_merge** merge, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(runtime, "runtime"));
    CUBINET_TRY(check_pointer(merge, "merge"));
    CUBINET_TRY_ASSIGN(const AttentionMerge::Problem wanted, merge_problem_of(problem));
    CUBINET_TRY_ASSIGN(AttentionMerge bound,
                       AttentionMerge::bind(runtime->session->runtime(), wanted, device));
    *merge = new cubinet_merge{wanted, std::move(bound)};
    return {};
  });
}

cubinet_status cubinet_merge_run(const cubinet_merge* merge, const cubinet_merge_tensors* tensors,
                                 uint32_t tokens, void* stream, cubinet_error** error) {
  return run_call(error, [&]() -> Result<void> {
    CUBINET_TRY(check_pointer(merge, "merge"));
    CUBINET_TRY_ASSIGN(const AttentionMerge::Tensors all, merge_tensors_of(tensors, merge->problem));
    return merge->bound.run(all, tokens, static_cast<CUstream>(stream));
  });
}

cubinet_merge* cubinet_merge_retain(cubinet_merge* merge) {
  return retain(merge);
}

void cubinet_merge_release(cubinet_merge* merge) {
  release(merge);
}
