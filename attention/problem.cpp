// SPDX-License-Identifier: Apache-2.0
#include "size_limits.hpp"

#include <cubinet/attention/problem.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace cubinet {
namespace {

constexpr std::uint32_t kMaximumHeads = 65'535;
// 128 columns of a head and 64 rotated ones, before absorption.
constexpr double kLatentHeadDim = 192;

Error wrong(std::string_view field, std::uint64_t value, std::string_view allowed) {
  return Error{ErrorCode::invalid_argument,
               std::string(field) + " is " + std::to_string(value) + ": it must be " + std::string(allowed)};
}

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

std::array<std::pair<std::string_view, std::uint32_t>, 2> head_dims_of(const AttentionProblem& problem) {
  return {{{"`AttentionProblem::head_dim_qk`", problem.head_dim_qk},
           {"`AttentionProblem::head_dim_v`", problem.head_dim_v}}};
}

Result<void> check_sizes(const AttentionProblem& problem) {
  const auto positive = [](std::string_view field, std::uint32_t value, std::uint32_t limit) -> Result<void> {
    if (value == 0 || value > limit) return wrong(field, value, "from 1 to " + std::to_string(limit));
    return {};
  };
  CUBINET_TRY(
      positive("`AttentionProblem::batch`", problem.batch, kMaximumHeads));  // the grid's third dimension
  CUBINET_TRY(positive("`AttentionProblem::q_len`", problem.q_len, kUnlimited));
  CUBINET_TRY(positive("`AttentionProblem::kv_len`", problem.kv_len, kUnlimited));
  CUBINET_TRY(positive("`AttentionProblem::heads_q`", problem.heads_q, kMaximumHeads));
  CUBINET_TRY(positive("`AttentionProblem::heads_kv`", problem.heads_kv, kMaximumHeads));
  CUBINET_TRY(positive("`AttentionProblem::window`", problem.window, kUnlimited));
  CUBINET_TRY(positive("`AttentionProblem::chunk`", problem.chunk, kUnlimited));
  if (problem.heads_q % problem.heads_kv != 0) {
    return wrong("`AttentionProblem::heads_q`", problem.heads_q,
                 "a multiple of `AttentionProblem::heads_kv`, " + std::to_string(problem.heads_kv));
  }
  for (const auto& [field, head_dim] : head_dims_of(problem)) {
    if (head_dim == 0 || head_dim > kMaximumHeadDim || head_dim % kHeadDimMultiple != 0) {
      return wrong(field, head_dim, "a multiple of 8 from 8 to 1024");
    }
  }
  return {};
}

Result<void> check_combinations(const AttentionProblem& problem) {
  if (problem.mask == AttentionMask::sliding_or_chunked_causal) {
    return Error{ErrorCode::invalid_argument, "the mask sliding_or_chunked_causal is not asked for by name",
                 "give the mask causal and a window"};
  }
  if (problem.window != kUnlimited && problem.chunk != kUnlimited) {
    return Error{ErrorCode::unsupported, "a window and chunks exclude each other"};
  }
  if (problem.is_mla_generation() && problem.heads_kv != 1)
    return wrong("`AttentionProblem::heads_kv`", problem.heads_kv,
                 "1 for latent attention (head dims 576/512), which has one KV head");
  const bool cut_off = problem.kv_len > problem.window || problem.chunk != kUnlimited;
  const bool of_custom = problem.is_windowed() && problem.chunk == kUnlimited;
  if (cut_off && !problem.is_sliding() && !of_custom) {
    return Error{ErrorCode::unsupported, "no kernel joins the mask " + std::string(to_string(problem.mask)) +
                                             " with a window or chunks"};
  }
  if (problem.mask != AttentionMask::dense && problem.q_len > problem.kv_len) {
    return wrong("`AttentionProblem::q_len`", problem.q_len,
                 "at most `AttentionProblem::kv_len`, which includes the new tokens");
  }
  const bool sparse = problem.sparse != SparseAttention::none;
  if (sparse && (problem.top_k == 0 || problem.top_k % 4 != 0)) {
    return wrong("`AttentionProblem::top_k`", problem.top_k,
                 "a positive multiple of 4 with sparse attention");
  }
  if (sparse && problem.skips_softmax) {
    return Error{ErrorCode::unsupported, "no sparse kernel skips softmax"};
  }
  if (sparse && cut_off) return Error{ErrorCode::unsupported, "no sparse kernel has a window or chunks"};
  return {};
}

// Kernels take softmax_scale * log2(e) as fp32. If it became 0 or infinite there, every row would
// be NaN.
Result<void> check_scale(std::string_view field, double value) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  constexpr double kMost = std::numeric_limits<float>::max() / 2;
  if (value >= kLeast && value <= kMost) return {};  // false for NaN
  return Error{ErrorCode::invalid_argument, std::string(field) + " is " + short_number(value) +
                                                ": it must be finite and above 0, and so as fp32"};
}

// Checks the members that do not belong to the shape.
Result<void> check_knowledge(const AttentionProblem& problem) {
  CUBINET_TRY(check_scale("`AttentionProblem::softmax_scale`", problem.scale()));
  if (problem.soft_cap) CUBINET_TRY(check_scale("`AttentionProblem::soft_cap`", *problem.soft_cap));
  CUBINET_TRY(check_scale("`AttentionProblem::output_scale`", problem.output_scale));
  if (problem.kv_order > KvOrder::hnd) {
    return wrong("`AttentionProblem::kv_order`", static_cast<std::uint64_t>(problem.kv_order), "nhd or hnd");
  }
  if (!problem.kv_lengths.empty() && problem.kv_lengths.size() != problem.batch) {
    return wrong("the number of `AttentionProblem::kv_lengths`", problem.kv_lengths.size(),
                 "`AttentionProblem::batch`, " + std::to_string(problem.batch) + ", or 0");
  }
  for (const std::int32_t length : problem.kv_lengths) {
    if (length >= 0 && static_cast<std::uint32_t>(length) <= problem.kv_len) continue;
    return Error{ErrorCode::invalid_argument,
                 "a length of `AttentionProblem::kv_lengths` is " + std::to_string(length) +
                     ": it must be from 0 to `AttentionProblem::kv_len`, " + std::to_string(problem.kv_len)};
  }
  return {};
}

Result<void> check_kv_scales(const AttentionProblem& problem) {
  if (problem.kv_scales == KvScales::none) return {};
  if (problem.data_type_k == DataType::e4m3 && problem.data_type_v == DataType::e4m3) return {};
  return Error{
      ErrorCode::unsupported,
      "scales of KV heads (`AttentionProblem::kv_scales`) need K and V of e4m3, and the problem has " +
          std::string(to_string(problem.data_type_k)) + " and " + std::string(to_string(problem.data_type_v)),
      "multiply the scales into the softmax scale and the output scale if there is one KV head, or "
      "store K and V as e4m3"};
}

bool is_page_size(std::uint32_t tokens) {
  return (std::has_single_bit(tokens) || (tokens != 0 && tokens % 8 == 0)) && tokens <= kMaximumTokensPerPage;
}

Result<void> check_append(const AttentionProblem& problem) {
  constexpr std::uint32_t kVectorPair = 16;  // columns per thread of the kernel
  const AttentionProblem::Append& append = *problem.append;
  if (problem.layout != QkvLayout::paged_kv || problem.is_mla_generation())
    return Error{ErrorCode::unsupported, "only a paged cache of K and of V is appended to"};
  if (!std::has_single_bit(problem.tokens_per_page))
    return wrong("`AttentionProblem::tokens_per_page`", problem.tokens_per_page,
                 "a power of two with append");
  if (append.data_type != DataType::bf16 && append.data_type != DataType::fp16)
    return wrong("`AttentionProblem::Append::data_type`", static_cast<std::uint64_t>(append.data_type),
                 "bf16 or fp16");
  for (const auto& [field, head_dim] : head_dims_of(problem)) {
    if (head_dim % kVectorPair != 0) return wrong(field, head_dim, "a multiple of 16 with append");
  }
  if (append.rope_dim % kVectorPair != 0 || append.rope_dim > problem.head_dim_qk)
    return wrong("`AttentionProblem::Append::rope_dim`", append.rope_dim,
                 "a multiple of 16 up to `AttentionProblem::head_dim_qk`");
  if (problem.data_type_k != problem.data_type_v)
    return Error{ErrorCode::unsupported, "K and V are appended in one type"};
  const std::pair<DataType, double> stored[] = {{problem.data_type_q, append.q_scale},
                                                {problem.data_type_k, append.k_scale},
                                                {problem.data_type_v, append.v_scale}};
  for (const auto& [type, scale] : stored) {
    if (type != append.data_type && type != DataType::e4m3) {
      return Error{ErrorCode::unsupported, "rows of " + std::string(to_string(append.data_type)) +
                                               " are appended as they are or as e4m3, not as " +
                                               std::string(to_string(type))};
    }
    CUBINET_TRY(check_scale("a scale of append", scale));
    if (scale != 1 && type != DataType::e4m3) {
      return Error{ErrorCode::invalid_argument, "a scale of append is " + short_number(scale) +
                                                    ": it must be 1 where nothing is stored as e4m3"};
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(AttentionNumerics value) {
  return value == AttentionNumerics::fast ? "fast" : "invariant";
}

std::string_view to_string(KvScales value) {
  constexpr std::string_view kNames[] = {"none", "head", "sequence"};
  return kNames[static_cast<std::size_t>(value)];
}

double AttentionProblem::scale() const {
  return softmax_scale.value_or(1 / std::sqrt(is_mla_generation() ? kLatentHeadDim : head_dim_qk));
}

std::uint32_t AttentionProblem::pages_per_sequence() const {
  return kv_len / tokens_per_page + (kv_len % tokens_per_page != 0 ? 1U : 0U);
}

Result<void> check_problem(const AttentionProblem& problem) {
  CUBINET_TRY(check_sizes(problem));
  for (const DataType type :
       {problem.data_type_q, problem.data_type_k, problem.data_type_v, problem.data_type_o}) {
    if (type > DataType::e2m1)
      return wrong("data type", static_cast<std::uint64_t>(type), "one of attention's, fp16 to e2m1");
  }
  if (problem.layout > QkvLayout::contiguous_kv || problem.mask > AttentionMask::custom ||
      problem.sparse > SparseAttention::dynamic_token || problem.numerics > AttentionNumerics::invariant ||
      problem.kv_scales > KvScales::sequence) {
    return Error{ErrorCode::invalid_argument,
                 "the layout, mask, sparsity, numerics or KV scales are no enumerated value"};
  }
  if (problem.layout == QkvLayout::paged_kv && !is_page_size(problem.tokens_per_page)) {
    return wrong("`AttentionProblem::tokens_per_page`", problem.tokens_per_page,
                 "a power of two or a multiple of 8, up to 2^20");
  }
  CUBINET_TRY(check_knowledge(problem));
  CUBINET_TRY(check_kv_scales(problem));
  if (problem.append) CUBINET_TRY(check_append(problem));
  CUBINET_TRY(check_combinations(problem));
  return check_tensor_sizes(problem);
}

}  // namespace cubinet
