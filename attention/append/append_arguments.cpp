// SPDX-License-Identifier: Apache-2.0
#include "append_arguments.hpp"

#include "stride_fields.hpp"

#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace cubinet {
namespace {

using kernel_templates::AttentionAppendParameters;

constexpr std::uint32_t kColumnsOfThread = 16;

StrideFields new_q_strides(AttentionAppendParameters& p) {
  return {p.new_q_batch_stride, p.new_q_token_stride, p.new_q_head_stride};
}
StrideFields new_k_strides(AttentionAppendParameters& p) {
  return {p.new_k_batch_stride, p.new_k_token_stride, p.new_k_head_stride};
}
StrideFields new_v_strides(AttentionAppendParameters& p) {
  return {p.new_v_batch_stride, p.new_v_token_stride, p.new_v_head_stride};
}
StrideFields q_strides(AttentionAppendParameters& p) {
  return {p.q_batch_stride, p.q_token_stride, p.q_head_stride};
}
StrideFields k_strides(AttentionAppendParameters& p) {
  return {p.k_page_stride, p.k_token_stride, p.k_head_stride};
}
StrideFields v_strides(AttentionAppendParameters& p) {
  return {p.v_page_stride, p.v_token_stride, p.v_head_stride};
}

void set_pool(const StrideFields& strides, const AttentionProblem& problem, long long columns) {
  strides.set_kv(problem, problem.kv_order, problem.tokens_per_page, columns);
}

}  // namespace

AppendArguments::AppendArguments(const AttentionProblem& problem)
    : parameters_{},
      ragged_q_(problem.ragged_q),
      positions_(problem.append->positions),
      scales_on_device_(problem.scales_on_device),
      kv_scales_(problem.kv_scales) {
  AttentionAppendParameters& p = parameters_;
  const AttentionProblem::Append& append = *problem.append;
  new_q_strides(p).set_rows(problem, problem.heads_q, problem.head_dim_qk);
  new_k_strides(p).set_rows(problem, problem.heads_kv, problem.head_dim_qk);
  new_v_strides(p).set_rows(problem, problem.heads_kv, problem.head_dim_v);
  q_strides(p).set_rows(problem, problem.heads_q, problem.head_dim_qk);
  set_pool(k_strides(p), problem, problem.head_dim_qk);
  set_pool(v_strides(p), problem, problem.head_dim_v);
  const long long pages = problem.pages_per_sequence();
  p.page_table_stride = problem.separate_page_tables ? 2 * pages : pages;
  p.v_table_offset = problem.separate_page_tables ? pages : 0;
  p.q_len = static_cast<int>(problem.q_len);
  p.max_kv_length = static_cast<int>(problem.kv_len);
  p.lengths_exclude_new = append.lengths_exclude_new ? -1 : 0;
  p.page_shift = std::countr_zero(problem.tokens_per_page);
  p.rope_dim = static_cast<int>(append.rope_dim);
  p.heads_q = problem.appends_q() ? static_cast<int>(problem.heads_q) : 0;
  p.heads_kv = static_cast<int>(problem.heads_kv);
  p.k_columns = static_cast<int>(problem.head_dim_qk);
  p.v_columns = static_cast<int>(problem.head_dim_v);
  p.q_scale = static_cast<float>(append.q_scale);
  p.k_scale = static_cast<float>(append.k_scale);
  p.v_scale = static_cast<float>(append.v_scale);
  // check_problem limits the divisor to 1 to 64.
  if (const auto threads = kernel_templates::make_fast_divisor(
          std::max(problem.head_dim_qk, problem.head_dim_v) / kColumnsOfThread))
    p.row_threads = *threads;
}

void AppendArguments::prepare(std::span<std::byte> argument) const {
  std::memcpy(argument.data(), &parameters_, sizeof(parameters_));
}

void AppendArguments::write(const AttentionTensors& tensors, std::span<std::byte> argument) const {
  AttentionAppendParameters p;
  std::memcpy(&p, argument.data(), sizeof(p));
  p.new_q = tensors.new_q.address;
  p.new_k = tensors.new_k.address;
  p.new_v = tensors.new_v.address;
  p.q = tensors.q.address;
  p.k = tensors.k.address;
  p.v = tensors.v.address;
  p.page_table = tensors.page_table.address;
  p.kv_lengths = tensors.kv_lengths.address;
  if (ragged_q_) p.q_offsets = tensors.q_offsets.address;
  if (positions_) p.positions = tensors.positions.address;
  if (p.rope_dim != 0) {
    p.cos_sin = tensors.cos_sin.address;
    const std::uint64_t rows =
        tensors.cos_sin.bytes / (static_cast<std::uint64_t>(p.rope_dim) * sizeof(float));
    p.table_positions = static_cast<int>(std::min<std::uint64_t>(rows, std::numeric_limits<int>::max()));
  }
  if (scales_on_device_) {
    p.q_scale_address = tensors.q_scale.address;
    p.k_scale_address = tensors.k_scale.address;
    p.v_scale_address = tensors.v_scale.address;
  }
  set_head_scales(kv_scales_, static_cast<std::uint32_t>(p.heads_kv), tensors, p);
  new_q_strides(p).set(tensors.new_q);
  new_k_strides(p).set(tensors.new_k);
  new_v_strides(p).set(tensors.new_v);
  q_strides(p).set(tensors.q);
  k_strides(p).set(tensors.k);
  v_strides(p).set(tensors.v);
  if (!tensors.page_table.is_contiguous()) p.page_table_stride = tensors.page_table.strides[0];
  std::memcpy(argument.data(), &p, sizeof(p));
}

}  // namespace cubinet
