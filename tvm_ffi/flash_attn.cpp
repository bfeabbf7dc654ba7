// SPDX-License-Identifier: Apache-2.0
// cubinet_flash_attn_with_kvcache: FlashAttention's decode over a paged cache.
#include "decode_call.hpp"
#include "function.hpp"

namespace cubinet::tvm_ffi {
namespace {

using dlpack::TensorView;

constexpr std::string_view kNames =
    "runtime, q, k_cache, v_cache, k, v, rotary_cos_sin, cache_seqlens, block_table, s_aux, softmax_scale, "
    "causal, window_left, window_right, softcap, rotary_interleaved, num_splits, q_rotated, out, softmax_lse";

struct Tensors {
  TensorView q, k_cache, v_cache;
  std::optional<TensorView> k, v, cos_sin;
  TensorView lengths, table;
  std::optional<TensorView> sinks;
};

Result<Tensors> read_tensors(Arguments& arguments) {
  Tensors tensors;
  CUBINET_TRY_ASSIGN(tensors.q, arguments.tensor("q"));
  CUBINET_TRY_ASSIGN(tensors.k_cache, arguments.tensor("k_cache"));
  CUBINET_TRY_ASSIGN(tensors.v_cache, arguments.tensor("v_cache"));
  CUBINET_TRY_ASSIGN(tensors.k, arguments.tensor_or_none("k"));
  CUBINET_TRY_ASSIGN(tensors.v, arguments.tensor_or_none("v"));
  CUBINET_TRY_ASSIGN(tensors.cos_sin, arguments.tensor_or_none("rotary_cos_sin"));
  CUBINET_TRY_ASSIGN(tensors.lengths, arguments.tensor("cache_seqlens"));
  CUBINET_TRY_ASSIGN(tensors.table, arguments.tensor("block_table"));
  CUBINET_TRY_ASSIGN(tensors.sinks, arguments.tensor_or_none("s_aux"));
  CUBINET_TRY(check_rank("q", tensors.q, "batch, q_len, heads_q, head_dim"));
  CUBINET_TRY(check_rank("k_cache", tensors.k_cache, "pages, page_size, heads_kv, head_dim"));
  CUBINET_TRY(check_rank("v_cache", tensors.v_cache, "pages, page_size, heads_kv, head_dim"));
  CUBINET_TRY(check_rank("block_table", tensors.table, "batch, pages"));
  if (tensors.cos_sin) CUBINET_TRY(check_rank("rotary_cos_sin", *tensors.cos_sin, "positions, rotary_dim"));
  return tensors;
}

Result<void> set_shapes(cubinet_attention_problem& problem, const Tensors& tensors) {
  CUBINET_TRY_ASSIGN(problem.batch, extent_of("q", tensors.q, 0));
  CUBINET_TRY_ASSIGN(problem.q_len, extent_of("q", tensors.q, 1));
  CUBINET_TRY_ASSIGN(problem.heads_q, extent_of("q", tensors.q, 2));
  CUBINET_TRY_ASSIGN(problem.head_dim_qk, extent_of("q", tensors.q, 3));
  CUBINET_TRY_ASSIGN(problem.page_size, extent_of("k_cache", tensors.k_cache, 1));
  CUBINET_TRY_ASSIGN(problem.heads_kv, extent_of("k_cache", tensors.k_cache, 2));
  CUBINET_TRY_ASSIGN(problem.head_dim_v, extent_of("v_cache", tensors.v_cache, 3));
  CUBINET_TRY_ASSIGN(const std::uint32_t pages, extent_of("block_table", tensors.table, 1));
  const std::uint64_t tokens = std::uint64_t{pages} * problem.page_size;
  if (tokens > UINT32_MAX) {
    return Error{ErrorCode::invalid_argument, "'block_table' has pages for more than 2^32 tokens",
                 "pass fewer pages"};
  }
  problem.kv_len = static_cast<std::uint32_t>(tokens);
  CUBINET_TRY_ASSIGN(problem.type_q, type_of("q", tensors.q));
  CUBINET_TRY_ASSIGN(problem.type_kv, type_of("k_cache", tensors.k_cache));
  return {};
}

// The new tokens, which a run first writes into the cache, rotated with Q if there is a table.
Result<void> set_append(cubinet_attention_problem& problem, const Tensors& tensors, bool is_interleaved) {
  if (tensors.k.has_value() != tensors.v.has_value()) {
    return Error{ErrorCode::invalid_argument, "one of 'k' and 'v' is None", "pass both or none"};
  }
  if (tensors.cos_sin && !tensors.k) {
    return Error{ErrorCode::invalid_argument, "'k' is None, and 'rotary_cos_sin' is given",
                 "pass the new tokens"};
  }
  if (!tensors.k) return {};
  problem.flags |= CUBINET_ATTENTION_APPEND | CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW;
  CUBINET_TRY_ASSIGN(problem.append_type, type_of("k", *tensors.k));
  if (!tensors.cos_sin) return {};
  CUBINET_TRY_ASSIGN(problem.rope_dim, extent_of("rotary_cos_sin", *tensors.cos_sin, 1));
  if (is_interleaved) problem.flags |= CUBINET_ATTENTION_ROPE_INTERLEAVED;
  return {};
}

Result<void> read_options(Arguments& arguments, const Tensors& tensors, DecodeCall& call) {
  CUBINET_TRY_ASSIGN(call.problem.softmax_scale, arguments.number("softmax_scale", 0.0));
  CUBINET_TRY_ASSIGN(const bool is_causal, arguments.flag("causal"));
  CUBINET_TRY_ASSIGN(const std::int64_t left, arguments.integer("window_left"));
  CUBINET_TRY_ASSIGN(const std::int64_t right, arguments.integer("window_right"));
  CUBINET_TRY(set_mask(call.problem, is_causal, left, right));
  CUBINET_TRY_ASSIGN(call.problem.soft_cap, arguments.number("softcap", 0.0));
  CUBINET_TRY_ASSIGN(const bool is_interleaved, arguments.flag("rotary_interleaved"));
  CUBINET_TRY(set_append(call.problem, tensors, is_interleaved));
  CUBINET_TRY_ASSIGN(const std::int64_t splits, arguments.integer("num_splits"));
  if (splits < 0 || splits > UINT32_MAX) {
    return Error{ErrorCode::invalid_argument, "'num_splits' is " + std::to_string(splits),
                 "pass a count, or 0 for the plan's choice"};
  }
  call.options.splits = static_cast<std::uint32_t>(splits);
  if (tensors.sinks) call.problem.flags |= CUBINET_ATTENTION_SINKS;
  return {};
}

Result<Value> attend(Arguments& arguments) {
  CUBINET_TRY(arguments.check_count(kNames));
  CUBINET_TRY_ASSIGN(const std::int64_t number, arguments.integer("runtime"));
  CUBINET_TRY_ASSIGN(const auto runtime, runtime_of(number));
  CUBINET_TRY_ASSIGN(const Tensors tensors, read_tensors(arguments));
  DecodeCall call;
  CUBINET_TRY(set_shapes(call.problem, tensors));
  CUBINET_TRY(read_options(arguments, tensors, call));
  CUBINET_TRY_ASSIGN(const auto rotated, arguments.tensor_or_none("q_rotated"));
  CUBINET_TRY_ASSIGN(const TensorView out, arguments.tensor("out"));
  CUBINET_TRY_ASSIGN(const auto lse, arguments.tensor_or_none("softmax_lse"));
  CUBINET_TRY_ASSIGN(call.problem.type_o, type_of("out", out));
  if (lse) call.problem.flags |= CUBINET_ATTENTION_LSE;
  if (rotated.has_value() != tensors.cos_sin.has_value()) {
    return Error{ErrorCode::invalid_argument, "one of 'rotary_cos_sin' and 'q_rotated' is None",
                 "pass both or none"};
  }
  // The kernels read the rotated Q, which the append has written.
  call.add("q", rotated ? "q_rotated" : "q", rotated ? *rotated : tensors.q);
  if (rotated) call.add("new_q", "q", tensors.q);
  call.add("k", "k_cache", tensors.k_cache);
  call.add("v", "v_cache", tensors.v_cache);
  call.add("new_k", "k", tensors.k);
  call.add("new_v", "v", tensors.v);
  call.add("cos_sin", "rotary_cos_sin", tensors.cos_sin);
  call.add("kv_lengths", "cache_seqlens", tensors.lengths);
  call.add("page_table", "block_table", tensors.table);
  call.add("sinks", "s_aux", tensors.sinks);
  call.add("o", "out", out);
  call.add("lse", "softmax_lse", lse);
  CUBINET_TRY(call.run(*runtime));
  return Value{};
}

}  // namespace
}  // namespace cubinet::tvm_ffi

// NOLINTNEXTLINE(bugprone-reserved-identifier): tvm-ffi prescribes the prefix.
extern "C" CUBINET_EXPORT int __tvm_ffi_cubinet_flash_attn_with_kvcache(
    void*, const cubinet::tvm_ffi::Value* arguments, std::int32_t count, cubinet::tvm_ffi::Value* result) {
  return cubinet::tvm_ffi::run_function("cubinet_flash_attn_with_kvcache", arguments, count, result,
                                        cubinet::tvm_ffi::attend);
}
