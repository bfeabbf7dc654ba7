// SPDX-License-Identifier: Apache-2.0
// cubinet_trtllm_batch_decode_with_kv_cache: FlashInfer's functional decode call.
#include "decode_call.hpp"
#include "function.hpp"

namespace cubinet::tvm_ffi {
namespace {

using dlpack::TensorView;

constexpr std::string_view kParameters =
    "runtime, query, k_cache, v_cache, workspace_buffer, counter_buffer, block_tables, seq_lens, "
    "max_seq_len, "
    "bmm1_scale, bmm2_scale, window_left, kv_layout, enable_pdl, max_q_len, cum_seq_lens_q, sinks, out, lse";

struct Inputs {
  TensorView query, k_cache, v_cache;
  std::optional<TensorView> workspace, counters;
  TensorView table, lengths;
};

Result<Inputs> read_inputs(Arguments& arguments) {
  Inputs inputs;
  CUBINET_TRY_ASSIGN(inputs.query, arguments.tensor("query"));
  CUBINET_TRY_ASSIGN(inputs.k_cache, arguments.tensor("k_cache"));
  CUBINET_TRY_ASSIGN(inputs.v_cache, arguments.tensor("v_cache"));
  CUBINET_TRY_ASSIGN(inputs.workspace, arguments.tensor_or_none("workspace_buffer"));
  CUBINET_TRY_ASSIGN(inputs.counters, arguments.tensor_or_none("counter_buffer"));
  CUBINET_TRY_ASSIGN(inputs.table, arguments.tensor("block_tables"));
  CUBINET_TRY_ASSIGN(inputs.lengths, arguments.tensor("seq_lens"));
  if (inputs.workspace.has_value() != inputs.counters.has_value()) {
    return Error{ErrorCode::invalid_argument, "one of 'workspace_buffer' and 'counter_buffer' is None",
                 "pass both, or none for a workspace of the library's own"};
  }
  CUBINET_TRY(check_rank("query", inputs.query, "tokens, heads_q, head_dim"));
  CUBINET_TRY(check_rank("k_cache", inputs.k_cache, "pages, heads_kv or page_size, the other, head_dim"));
  CUBINET_TRY(check_rank("v_cache", inputs.v_cache, "pages, heads_kv or page_size, the other, head_dim"));
  CUBINET_TRY(check_rank("block_tables", inputs.table, "batch, pages"));
  return inputs;
}

Result<std::uint32_t> count_of(Arguments& arguments, const char* name) {
  CUBINET_TRY_ASSIGN(const std::int64_t count, arguments.integer(name));
  if (count >= 1 && count <= UINT32_MAX) return static_cast<std::uint32_t>(count);
  return Error{ErrorCode::invalid_argument, "'" + std::string(name) + "' is " + std::to_string(count),
               "pass a count of at least 1"};
}

struct Scales {
  std::optional<TensorView> softmax, output;
};

// Both scales are numbers, or both are one fp32 on the device.
Result<Scales> read_scales(Arguments& arguments, cubinet_attention_problem& problem) {
  Scales scales;
  if (arguments.next_is_tensor()) {
    CUBINET_TRY_ASSIGN(scales.softmax, arguments.tensor("bmm1_scale"));
    CUBINET_TRY_ASSIGN(scales.output, arguments.tensor("bmm2_scale"));
    problem.flags |= CUBINET_ATTENTION_SCALES_ON_DEVICE;
    return scales;
  }
  CUBINET_TRY_ASSIGN(problem.softmax_scale, arguments.number("bmm1_scale", 0.0));
  CUBINET_TRY_ASSIGN(problem.output_scale, arguments.number("bmm2_scale", 1.0));
  return scales;
}

Result<void> read_layout(Arguments& arguments, const Inputs& inputs, cubinet_attention_problem& problem) {
  CUBINET_TRY_ASSIGN(const std::string layout, arguments.text("kv_layout"));
  if (layout != "HND" && layout != "NHD") {
    return Error{ErrorCode::invalid_argument, "'kv_layout' is '" + layout.substr(0, 20) + "'",
                 "pass \"HND\" or \"NHD\""};
  }
  const bool heads_first = layout == "HND";
  problem.kv_order = heads_first ? CUBINET_KV_HND : CUBINET_KV_NHD;
  CUBINET_TRY_ASSIGN(problem.heads_kv, extent_of("k_cache", inputs.k_cache, heads_first ? 1 : 2));
  CUBINET_TRY_ASSIGN(problem.page_size, extent_of("k_cache", inputs.k_cache, heads_first ? 2 : 1));
  return {};
}

Result<void> set_problem(const Inputs& inputs, cubinet_attention_problem& problem) {
  CUBINET_TRY_ASSIGN(problem.batch, extent_of("block_tables", inputs.table, 0));
  CUBINET_TRY_ASSIGN(problem.heads_q, extent_of("query", inputs.query, 1));
  CUBINET_TRY_ASSIGN(problem.head_dim_qk, extent_of("query", inputs.query, 2));
  CUBINET_TRY_ASSIGN(problem.head_dim_v, extent_of("v_cache", inputs.v_cache, 3));
  CUBINET_TRY_ASSIGN(problem.type_q, type_of("query", inputs.query));
  CUBINET_TRY_ASSIGN(problem.type_kv, type_of("k_cache", inputs.k_cache));
  return {};
}

// A tensor [tokens, ...] as [batch, q_len, ...], which a run without offsets takes. Keeps the
// extents that the view points to.
class BySequence {
 public:
  BySequence(const TensorView& tokens, std::uint32_t batch, std::uint32_t q_len) : view_(tokens) {
    shape_ = {batch, q_len};
    std::int64_t dense = 1;
    for (int i = tokens.dimensions; --i > 0;) {
      shape_[static_cast<std::size_t>(i) + 1] = tokens.shape[i];
      strides_[static_cast<std::size_t>(i) + 1] = tokens.strides == nullptr ? dense : tokens.strides[i];
      dense *= tokens.shape[i];
    }
    strides_[1] = tokens.strides == nullptr ? dense : tokens.strides[0];
    strides_[0] = strides_[1] * q_len;
    view_.shape = shape_.data();
    view_.strides = strides_.data();
    ++view_.dimensions;
  }
  BySequence(const BySequence&) = delete;
  BySequence& operator=(const BySequence&) = delete;

  const TensorView& view() const { return view_; }

 private:
  TensorView view_;
  std::array<std::int64_t, 4> shape_ = {};
  std::array<std::int64_t, 4> strides_ = {};
};

Error wrong_tokens(const char* name, const TensorView& tensor, const cubinet_attention_problem& problem) {
  return {ErrorCode::invalid_argument,
          "'" + std::string(name) + "' has the shape " + shape_text(tensor) + " for " +
              std::to_string(problem.batch) + " sequences of " + std::to_string(problem.q_len) + " tokens",
          "pass equally many tokens of each sequence, or 'cum_seq_lens_q'"};
}

Result<void> run(KeptRuntime& runtime, DecodeCall& call, const TensorView& query, const TensorView& out,
                 const std::optional<TensorView>& lse, bool is_ragged) {
  const auto add_and_run = [&](const TensorView& q, const TensorView& o,
                               const std::optional<TensorView>& values) {
    call.add("q", "query", q);
    call.add("o", "out", o);
    call.add("lse", "lse", values);
    return call.run(runtime);
  };
  if (is_ragged) return add_and_run(query, out, lse);
  const std::int64_t tokens = std::int64_t{call.problem.batch} * call.problem.q_len;
  if (query.shape[0] != tokens) return wrong_tokens("query", query, call.problem);
  CUBINET_TRY(check_rank("out", out, "tokens, heads_q, head_dim"));
  if (out.shape[0] != tokens) return wrong_tokens("out", out, call.problem);
  const BySequence q(query, call.problem.batch, call.problem.q_len);
  const BySequence o(out, call.problem.batch, call.problem.q_len);
  if (!lse) return add_and_run(q.view(), o.view(), lse);
  CUBINET_TRY(check_rank("lse", *lse, "tokens, heads_q"));
  if (lse->shape[0] != tokens) return wrong_tokens("lse", *lse, call.problem);
  const BySequence values(*lse, call.problem.batch, call.problem.q_len);
  return add_and_run(q.view(), o.view(), values.view());
}

Result<Value> decode(Arguments& arguments) {
  CUBINET_TRY(arguments.check_count(kParameters));
  CUBINET_TRY_ASSIGN(const std::int64_t number, arguments.integer("runtime"));
  CUBINET_TRY_ASSIGN(const auto runtime, runtime_of(number));
  CUBINET_TRY_ASSIGN(const Inputs inputs, read_inputs(arguments));
  DecodeCall call;
  cubinet_attention_problem& problem = call.problem;
  CUBINET_TRY(set_problem(inputs, problem));
  CUBINET_TRY_ASSIGN(problem.kv_len, count_of(arguments, "max_seq_len"));
  CUBINET_TRY_ASSIGN(const Scales scales, read_scales(arguments, problem));
  CUBINET_TRY_ASSIGN(const std::int64_t window_left, arguments.integer("window_left"));
  CUBINET_TRY(read_layout(arguments, inputs, problem));
  CUBINET_TRY_ASSIGN(const bool starts_early, arguments.flag("enable_pdl"));
  if (starts_early) call.options.flags |= CUBINET_PLAN_STARTS_EARLY;
  CUBINET_TRY_ASSIGN(problem.q_len, count_of(arguments, "max_q_len"));
  CUBINET_TRY(set_mask(problem, true, window_left, 0));
  CUBINET_TRY_ASSIGN(const auto offsets, arguments.tensor_or_none("cum_seq_lens_q"));
  CUBINET_TRY_ASSIGN(const auto sinks, arguments.tensor_or_none("sinks"));
  CUBINET_TRY_ASSIGN(const TensorView out, arguments.tensor("out"));
  CUBINET_TRY_ASSIGN(const auto lse, arguments.tensor_or_none("lse"));
  CUBINET_TRY_ASSIGN(problem.type_o, type_of("out", out));
  if (offsets) problem.flags |= CUBINET_ATTENTION_RAGGED_Q;
  if (sinks) problem.flags |= CUBINET_ATTENTION_SINKS;
  if (lse) problem.flags |= CUBINET_ATTENTION_LSE;
  call.add("k", "k_cache", inputs.k_cache);
  call.add("v", "v_cache", inputs.v_cache);
  call.add("scratch", "workspace_buffer", inputs.workspace);
  call.add("counters", "counter_buffer", inputs.counters);
  call.add("page_table", "block_tables", inputs.table);
  call.add("kv_lengths", "seq_lens", inputs.lengths);
  call.add("softmax_scale", "bmm1_scale", scales.softmax);
  call.add("output_scale", "bmm2_scale", scales.output);
  call.add("q_offsets", "cum_seq_lens_q", offsets);
  call.add("sinks", "sinks", sinks);
  CUBINET_TRY(run(*runtime, call, inputs.query, out, lse, offsets.has_value()));
  return Value{};
}

}  // namespace
}  // namespace cubinet::tvm_ffi

// NOLINTNEXTLINE(bugprone-reserved-identifier): tvm-ffi prescribes the prefix.
extern "C" CUBINET_EXPORT int __tvm_ffi_cubinet_trtllm_batch_decode_with_kv_cache(
    void*, const cubinet::tvm_ffi::Value* arguments, std::int32_t count, cubinet::tvm_ffi::Value* result) {
  return cubinet::tvm_ffi::run_function("cubinet_trtllm_batch_decode_with_kv_cache", arguments, count, result,
                                        cubinet::tvm_ffi::decode);
}
