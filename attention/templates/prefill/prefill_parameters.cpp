// SPDX-License-Identifier: Apache-2.0
#include "prefill_parameters.hpp"

#include "stride_fields.hpp"

#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <numbers>

namespace cubinet {
namespace {

using kernel_templates::AttentionPrefillParameters;

}  // namespace

Result<AttentionPrefillParameters> prefill_parameters(const AttentionProblem& problem) {
  const bool paged = problem.layout == QkvLayout::paged_kv;
  AttentionPrefillParameters p{};
  StrideFields{p.q_batch_stride, p.q_token_stride, p.q_head_stride}.set_rows(problem, problem.heads_q,
                                                                             problem.head_dim_qk);
  StrideFields{p.o_batch_stride, p.o_token_stride, p.o_head_stride}.set_rows(problem, problem.heads_q,
                                                                             problem.head_dim_v);
  const KvOrder order = paged ? problem.kv_order : KvOrder::nhd;
  const long long tokens = paged ? problem.tokens_per_page : problem.kv_len;
  StrideFields{p.k_outer_stride, p.k_token_stride, p.k_head_stride}.set_kv(problem, order, tokens,
                                                                           problem.head_dim_qk);
  StrideFields{p.v_outer_stride, p.v_token_stride, p.v_head_stride}.set_kv(problem, order, tokens,
                                                                           problem.head_dim_v);
  if (paged) {
    const std::uint32_t pages = problem.pages_per_sequence();
    p.page_table_stride = problem.separate_page_tables ? 2LL * pages : pages;
    p.v_page_table_offset = problem.separate_page_tables ? static_cast<int>(pages) : 0;
  }
  p.batch = static_cast<int>(problem.batch);
  p.q_len = static_cast<int>(problem.q_len);
  p.max_kv_length = static_cast<int>(problem.kv_len);
  p.window = static_cast<int>(problem.window);
  p.softmax_scale_log2 = static_cast<float>(problem.scale() * std::numbers::log2e);
  p.output_scale = static_cast<float>(problem.output_scale);
  p.soft_cap = static_cast<float>(problem.soft_cap.value_or(0));
  p.lengths_exclude_new = problem.append && problem.append->lengths_exclude_new ? -1 : 0;
  CUBINET_TRY_ASSIGN(p.heads_q, kernel_templates::make_fast_divisor(problem.heads_q));
  CUBINET_TRY_ASSIGN(p.heads_kv, kernel_templates::make_fast_divisor(problem.heads_kv));
  CUBINET_TRY_ASSIGN(p.group, kernel_templates::make_fast_divisor(problem.group_size()));
  CUBINET_TRY_ASSIGN(p.page_size, kernel_templates::make_fast_divisor(paged ? problem.tokens_per_page : 1));
  return p;
}

}  // namespace cubinet
