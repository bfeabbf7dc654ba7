// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/problem_conversion.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// Rows of Q for one KV head beyond which each tile's own pass over KV is prefill: 16 tiles of 64.
constexpr std::uint64_t kMaximumRows = 1024;

std::string text(std::uint64_t value) {
  return std::to_string(value);
}

// What attention_decode has no parameter or argument for.
std::optional<std::string> missing_feature(const AttentionProblem& problem) {
  if (!problem.is_generation()) return "attention_decode is for generation, and the problem is prefill";
  const std::uint64_t rows = std::uint64_t{problem.group_size()} * problem.q_len;
  if (rows > kMaximumRows) {
    return "a group of " + text(problem.group_size()) + " times " + text(problem.q_len) +
           " query tokens is " + text(rows) + " rows a KV head, which is prefill: attention_decode takes " +
           text(kMaximumRows);
  }
  if (problem.is_mla_generation()) {
    return "latent attention (head dims 576/512) is not what attention_decode computes: K and V are two "
           "pools";
  }
  if (problem.layout != QkvLayout::paged_kv) {
    return "attention_decode reads paged KV, and the layout is " + std::string(to_string(problem.layout));
  }
  if (problem.mask == AttentionMask::custom) return "attention_decode would ignore the custom mask";
  if (problem.sinks) return "attention_decode would ignore the attention sinks";
  if (problem.sparse != SparseAttention::none) return "attention_decode reads all of KV, not the top k of it";
  if (problem.chunk != kUnlimited) return "attention_decode would ignore the chunks";
  if (problem.skips_softmax) return "attention_decode skips no softmax";
  if (problem.sage_block != decltype(problem.sage_block){})
    return "attention_decode would ignore the Sage scales";
  if (problem.data_type_k != problem.data_type_v) {
    return "attention_decode has one type for KV, and K is " + std::string(to_string(problem.data_type_k)) +
           ", V " + std::string(to_string(problem.data_type_v));
  }
  return std::nullopt;
}

}  // namespace

std::variant<DecodeProblem, std::string> decode_problem_of(const AttentionProblem& problem,
                                                           const DecodeHints& hints) {
  if (auto missing = missing_feature(problem)) return *std::move(missing);
  DecodeProblem decode;
  decode.batch = static_cast<int>(problem.batch);
  decode.q_len = static_cast<int>(problem.q_len);
  decode.heads_q = static_cast<int>(problem.heads_q);
  decode.heads_kv = static_cast<int>(problem.heads_kv);
  decode.head_dim_qk = static_cast<int>(problem.head_dim_qk);
  decode.head_dim_v = static_cast<int>(problem.head_dim_v);
  decode.kv_len_max = static_cast<int>(problem.kv_len);
  decode.page_size = static_cast<int>(problem.tokens_per_page);
  decode.dtype_q = problem.data_type_q;
  decode.dtype_kv = problem.data_type_k;
  decode.dtype_o = problem.data_type_o;
  // One query token sees the same under both masks: one kernel serves.
  const bool dense = problem.mask == AttentionMask::dense && problem.q_len > 1;
  decode.mask = dense ? DecodeMask::dense : DecodeMask::causal;
  if (problem.is_sliding()) decode.window = static_cast<int>(problem.window);
  decode.softmax_scale = hints.softmax_scale;
  decode.layout = hints.layout;
  decode.kv_lengths = hints.kv_lengths;
  return decode;
}

AttentionProblem attention_problem_of(const DecodeProblem& problem) {
  AttentionProblem attention;
  attention.batch = static_cast<std::uint32_t>(problem.batch);
  attention.q_len = static_cast<std::uint32_t>(problem.q_len);
  attention.kv_len = static_cast<std::uint32_t>(std::max({problem.kv_len_max, problem.q_len, 1}));
  attention.heads_q = static_cast<std::uint32_t>(problem.heads_q);
  attention.heads_kv = static_cast<std::uint32_t>(problem.heads_kv);
  attention.head_dim_qk = static_cast<std::uint32_t>(problem.head_dim_qk);
  attention.head_dim_v = static_cast<std::uint32_t>(problem.head_dim_v);
  attention.tokens_per_page = static_cast<std::uint32_t>(problem.page_size);
  attention.data_type_q = problem.dtype_q;
  attention.data_type_k = attention.data_type_v = problem.dtype_kv;
  attention.data_type_o = problem.dtype_o;
  attention.mask = problem.mask == DecodeMask::causal ? AttentionMask::causal : AttentionMask::dense;
  if (problem.window) attention.window = static_cast<std::uint32_t>(*problem.window);
  return attention;
}

DecodeHints hints_of(const DecodeProblem& problem) {
  DecodeHints hints;
  hints.kv_lengths = problem.kv_lengths;
  hints.layout = problem.layout;
  hints.softmax_scale = problem.softmax_scale;
  return hints;
}

}  // namespace cubinet
