// SPDX-License-Identifier: Apache-2.0
#include "prefill_parameters.hpp"

#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <numbers>

namespace cubinet {
namespace {

using kernel_templates::AttentionPrefillParameters;

struct PrefillKvStrides {
  long long outer = 0;
  long long token = 0;
  long long head = 0;
};

PrefillKvStrides prefill_kv_strides(const AttentionProblem& problem, long long head_dim) {
  const long long heads = problem.heads_kv;
  const long long tokens = problem.layout == QkvLayout::paged_kv ? problem.tokens_per_page : problem.kv_len;
  if (problem.layout == QkvLayout::paged_kv && problem.kv_order == KvOrder::hnd)
    return {tokens * heads * head_dim, head_dim, tokens * head_dim};
  return {tokens * heads * head_dim, heads * head_dim, head_dim};
}

}  // namespace

Result<AttentionPrefillParameters> prefill_parameters(const AttentionProblem& problem) {
  const bool paged = problem.layout == QkvLayout::paged_kv;
  AttentionPrefillParameters p{};
  p.q_head_stride = problem.head_dim_qk;
  p.q_token_stride = p.q_head_stride * problem.heads_q;
  p.q_batch_stride = p.q_token_stride * problem.q_len;
  p.o_head_stride = problem.head_dim_v;
  p.o_token_stride = p.o_head_stride * problem.heads_q;
  p.o_batch_stride = p.o_token_stride * problem.q_len;
  const PrefillKvStrides k = prefill_kv_strides(problem, problem.head_dim_qk);
  const PrefillKvStrides v = prefill_kv_strides(problem, problem.head_dim_v);
  p.k_outer_stride = k.outer;
  p.k_token_stride = k.token;
  p.k_head_stride = k.head;
  p.v_outer_stride = v.outer;
  p.v_token_stride = v.token;
  p.v_head_stride = v.head;
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
