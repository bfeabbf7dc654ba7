// SPDX-License-Identifier: Apache-2.0
#include "decode_parameters.hpp"

#include "rounding.hpp"
#include "size_limits.hpp"
#include "stride_fields.hpp"

#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <algorithm>
#include <numbers>

namespace cubinet {
namespace {

using kernel_templates::AttentionDecodeParameters;
using kernel_templates::make_fast_divisor;

}  // namespace

Result<AttentionDecodeParameters> decode_parameters(const AttentionProblem& problem, const DecodeTile& tile,
                                                    const DecodeSplits& splits) {
  const std::uint32_t rows = problem.group_size() * problem.q_len;
  AttentionDecodeParameters p{};
  StrideFields{p.q_batch_stride, p.q_token_stride, p.q_head_stride}.set_rows(problem, problem.heads_q,
                                                                             problem.head_dim_qk);
  StrideFields{p.o_batch_stride, p.o_token_stride, p.o_head_stride}.set_rows(problem, problem.heads_q,
                                                                             problem.head_dim_v);
  StrideFields{p.k_page_stride, p.k_token_stride, p.k_head_stride}.set_kv(
      problem, problem.kv_order, problem.tokens_per_page, problem.head_dim_qk);
  StrideFields{p.v_page_stride, p.v_token_stride, p.v_head_stride}.set_kv(
      problem, problem.kv_order, problem.tokens_per_page, problem.head_dim_v);
  const std::uint32_t pages = problem.pages_per_sequence();
  p.page_table_stride = problem.separate_page_tables ? 2LL * pages : pages;
  p.v_page_table_offset = problem.separate_page_tables ? static_cast<int>(pages) : 0;
  p.batch = static_cast<int>(problem.batch);
  p.q_len = static_cast<int>(problem.q_len);
  p.q_tiles = static_cast<int>(divide_up(rows, tile.q));
  p.heads_q = static_cast<int>(problem.heads_q);
  p.partial_rows = static_cast<int>(std::min(rows, tile.q));
  p.min_units = static_cast<int>(splits.min_units);
  p.split_is_unit = splits.split_is_unit ? 1 : 0;
  p.window = static_cast<int>(problem.window);
  p.mask_words = static_cast<int>(problem.mask_words());
  p.soft_cap = static_cast<float>(problem.soft_cap.value_or(0));
  p.max_kv_length = static_cast<int>(problem.kv_len);
  p.lengths_exclude_new = problem.append && problem.append->lengths_exclude_new ? -1 : 0;
  p.softmax_scale_log2 = static_cast<float>(problem.scale() * std::numbers::log2e);
  p.output_scale = static_cast<float>(problem.output_scale);
  CUBINET_TRY_ASSIGN(p.heads_kv, make_fast_divisor(problem.heads_kv));
  CUBINET_TRY_ASSIGN(p.group, make_fast_divisor(problem.group_size()));
  CUBINET_TRY_ASSIGN(p.unit, make_fast_divisor(splits.unit));
  CUBINET_TRY_ASSIGN(p.blocks, make_fast_divisor(splits.blocks));
  return p;
}

Result<WorkspaceSizes> decode_workspace(const AttentionProblem& problem, const DecodeTile& tile,
                                        const DecodeSplits& splits) {
  WorkspaceSizes sizes;
  if (splits.slots == 0) return sizes;
  const std::uint64_t tile_rows = std::min(problem.group_size() * problem.q_len, tile.q);
  const std::uint64_t rows = saturating_product(splits.slots, problem.heads_kv * tile_rows);
  if (saturating_product(rows, (problem.head_dim_v + std::uint64_t{1}) * sizeof(float)) >
      kLargestTensorBytes) {
    return Error{ErrorCode::invalid_argument,
                 "the workspace of `AttentionProblem::batch` " + std::to_string(problem.batch) +
                     ", `AttentionProblem::q_len` " + std::to_string(problem.q_len) +
                     ", `AttentionProblem::heads_q` " + std::to_string(problem.heads_q) +
                     ", `AttentionProblem::head_dim_v` " + std::to_string(problem.head_dim_v) + " and " +
                     std::to_string(splits.count) + " KV splits exceeds 2^56 bytes; ask for fewer splits"};
  }
  const auto aligned = [](std::uint64_t bytes) {
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  };
  const std::uint64_t q_tiles = divide_up(problem.group_size() * problem.q_len, tile.q);
  if (!splits.combines_apart)
    sizes.counter_bytes = aligned(problem.batch * q_tiles * problem.heads_kv * sizeof(std::int32_t));
  sizes.partial_output_bytes = aligned(rows * problem.head_dim_v * sizeof(float));
  sizes.partial_stats_offset = sizes.partial_output_bytes;
  const std::uint64_t stats = problem.is_invariant() ? 2 : 1;  // of a row: maximum and sum, or LSE
  sizes.partial_stats_bytes = rows * stats * sizeof(float);
  sizes.scratch_bytes = sizes.partial_stats_offset + sizes.partial_stats_bytes;
  return sizes;
}

}  // namespace cubinet
