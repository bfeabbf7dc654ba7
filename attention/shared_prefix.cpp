// SPDX-License-Identifier: Apache-2.0
#include "rounding.hpp"
#include "shared_prefix_plan.hpp"
#include "size_limits.hpp"
#include "tensor_checks.hpp"

#include <cubinet/attention/shared_prefix.hpp>
#include <cubinet/loader/memory.hpp>
#include <cubinet/runtime.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace cubinet {
namespace {

Error of_prefix(Error error) {
  error.message = "over the prefix: " + error.message;
  return error;
}

// Returns the bytes of the results of one part, in the order of the scratch buffer.
struct PartSizes {
  std::uint64_t o = 0;
  std::uint64_t lse = 0;
};
PartSizes part_sizes(const AttentionMerge::Problem& merge, std::uint64_t tokens) {
  const std::uint64_t rows = tokens * merge.heads;
  return {rows * merge.head_dim * bits_of(merge.data_type) / 8, rows * sizeof(float)};
}

std::uint64_t aligned(std::uint64_t bytes) {
  return divide_up(bytes, kWorkspaceAlignment) * kWorkspaceAlignment;
}

}  // namespace

struct SharedPrefixAttention::Binding {
  SharedPrefixProblem problem;
  AttentionMerge::Problem merged;
  BoundAttention prefix;
  BoundAttention own;
  AttentionMerge merge;
  std::shared_ptr<const Device> device;
  TensorChecks prefix_checks;
  std::uint64_t kernel_scratch = 0;  // of both attentions, which run one after the other
  WorkspaceSizes workspace;

  struct TokenRows {
    DeviceTensor tensor;
    std::uint64_t tokens = 0;
  };
  // The tensors of the kernels of one run.
  struct Views {
    AttentionTensors own;
    AttentionTensors prefix;
    AttentionMerge::Tensors merge;
    std::uint32_t tokens = 0;
  };
  Result<Views> views(const Tensors& tensors) const;
  Result<TokenRows> rows_of(std::string_view name, DeviceTensor tensor, std::uint64_t columns,
                            DataType type) const;
};

// Returns Q or O as tokens that follow each other, without sequences.
Result<SharedPrefixAttention::Binding::TokenRows> SharedPrefixAttention::Binding::rows_of(
    std::string_view name, DeviceTensor tensor, std::uint64_t columns, DataType type) const {
  const AttentionProblem& of = problem.own;
  if (!of.ragged_q && !tensor.is_contiguous()) {
    const auto [sequence, token, head] = tensor.strides;
    if (of.q_len != 1 && of.batch != 1 && sequence != token * std::int64_t{of.q_len}) {
      return wrong_tensor(name, " has strides of " + std::to_string(sequence) +
                                    " elements from sequence to sequence and " + std::to_string(token) +
                                    " from token to token, but tokens that share a prefix must follow each "
                                    "other: the first must be `AttentionProblem::q_len` times the second");
    }
    // The strides of a single token may be anything.
    const std::int64_t step = query_tokens(of) == 1 ? std::max(head, static_cast<std::int64_t>(columns))
                              : of.q_len == 1       ? sequence
                                                    : token;
    tensor.strides = {step, step, head};
  }
  std::uint64_t tokens = most_tokens(problem);
  TensorShape shape = TensorShape::of({1, 1, of.heads_q}, columns, type);
  if (of.ragged_q) {
    shape.counts_on_device[1] = true;
    shape.most_counted = tokens;
    CUBINET_TRY(check_strided(name, tensor, shape));
    tokens = shape.counted(tensor);
  }
  shape = TensorShape::of({1, tokens, of.heads_q}, columns, type);
  CUBINET_TRY(check_strided(name, tensor, shape));
  tensor.bytes = tensor.is_contiguous() ? shape.contiguous_bytes : shape.extent(tensor.strides);
  return TokenRows{tensor, tokens};
}

Result<SharedPrefixAttention::Binding::Views> SharedPrefixAttention::Binding::views(
    const Tensors& tensors) const {
  const AttentionProblem& of = problem.own;
  Views views;
  CUBINET_TRY_ASSIGN(const TokenRows q, rows_of("q", tensors.own.q, of.head_dim_qk, of.data_type_q));
  CUBINET_TRY_ASSIGN(const TokenRows o, rows_of("o", tensors.own.o, of.head_dim_v, of.data_type_o));
  views.tokens = static_cast<std::uint32_t>(q.tokens);
  const std::uint64_t begin = tensors.own.scratch.address;
  CUBINET_TRY(check_place("scratch", tensors.own.scratch, workspace.scratch_bytes, kWorkspaceAlignment));
  std::uint64_t used = kernel_scratch;
  const auto take = [&](std::uint64_t bytes) {
    const DeviceTensor taken(begin + used, bytes);
    used += aligned(bytes);
    return taken;
  };
  const PartSizes sizes = part_sizes(merged, q.tokens);
  AttentionMerge::Tensors& parts = views.merge;
  parts.first = {take(sizes.o), take(sizes.lse)};
  parts.second.lse = tensors.own.lse.address != 0 ? tensors.own.lse : take(sizes.lse);
  const bool in_place = merged.data_type == merged.data_type_o;
  parts.second.o = in_place ? o.tensor : take(sizes.o);
  parts.merged = {o.tensor, tensors.own.lse};

  views.own = tensors.own;
  views.own.lse = parts.second.lse;
  if (of.ragged_q) views.own.q = q.tensor;
  if (of.ragged_q || !in_place) views.own.o = parts.second.o;
  views.own.scratch.bytes = kernel_scratch;

  AttentionTensors& shared = views.prefix;
  shared.q = q.tensor;
  shared.k = tensors.own.k;
  shared.v = tensors.own.v;
  shared.o = parts.first.o;
  shared.lse = parts.first.lse;
  shared.page_table = tensors.prefix_page_table;
  shared.kv_lengths = tensors.prefix_lengths;
  shared.q_offsets = tensors.group_offsets;
  shared.softmax_scale = tensors.own.softmax_scale;
  shared.output_scale = tensors.own.output_scale;
  shared.k_head_scales = tensors.own.k_head_scales;
  shared.v_head_scales = tensors.own.v_head_scales;
  shared.scratch = views.own.scratch;
  shared.counters = tensors.own.counters;
  if (auto checked = prefix_checks.check(shared); !checked) return of_prefix(checked.error());
  return views;
}

Result<SharedPrefixAttention> SharedPrefixAttention::bind(Runtime& runtime, const SharedPrefixPlan& plan,
                                                          int device) {
  CUBINET_TRY_ASSIGN(BoundAttention own, BoundAttention::bind(runtime, plan.own.plan, device));
  auto prefix = BoundAttention::bind(runtime, plan.prefix.plan, device);
  if (!prefix) return of_prefix(prefix.error());
  return compose(runtime, plan, *std::move(prefix), std::move(own), device);
}

Result<SharedPrefixAttention> SharedPrefixAttention::compose(Runtime& runtime, const SharedPrefixPlan& plan,
                                                             BoundAttention prefix, BoundAttention own,
                                                             int device) {
  CUBINET_TRY_ASSIGN(AttentionMerge merge, AttentionMerge::bind(runtime, plan.merge, device));
  CUBINET_TRY_ASSIGN(std::shared_ptr<const Device> bound, runtime.device(device));
  const AttentionPlan& of_prefix_tokens = prefix.plan();
  const WorkspaceSizes& first = of_prefix_tokens.workspace;
  const WorkspaceSizes& second = own.plan().workspace;
  WorkspaceSizes workspace;
  workspace.counter_bytes = std::max(first.counter_bytes, second.counter_bytes);
  const std::uint64_t kernels = aligned(std::max(first.scratch_bytes, second.scratch_bytes));
  const PartSizes sizes = part_sizes(plan.merge, most_tokens(plan.problem));
  const bool in_place = plan.merge.data_type == plan.merge.data_type_o;
  workspace.scratch_bytes = kernels + aligned(sizes.o) * (in_place ? 1 : 2) + aligned(sizes.lse) * 2;
  TensorChecks checks(of_prefix_tokens.request.problem, first, of_prefix_tokens.rules);
  return SharedPrefixAttention(std::make_shared<const Binding>(
      Binding{plan.problem, plan.merge, std::move(prefix), std::move(own), std::move(merge), std::move(bound),
              checks, kernels, workspace}));
}

const SharedPrefixProblem& SharedPrefixAttention::problem() const {
  return binding_->problem;
}

const BoundAttention& SharedPrefixAttention::prefix() const {
  return binding_->prefix;
}

const BoundAttention& SharedPrefixAttention::own() const {
  return binding_->own;
}

const WorkspaceSizes& SharedPrefixAttention::workspace() const {
  return binding_->workspace;
}

Result<AttentionWorkspace> SharedPrefixAttention::make_workspace() const {
  return AttentionWorkspace::allocate(binding_->device, binding_->workspace);
}

Result<void> SharedPrefixAttention::run(const Tensors& tensors, CUstream stream) const {
  const Binding& binding = *binding_;
  CUBINET_TRY_ASSIGN(const Binding::Views views, binding.views(tensors));
  // The append of the own tokens writes Q, so they come first.
  CUBINET_TRY(binding.own.run(views.own, stream));
  CUBINET_TRY(binding.prefix.run(views.prefix, stream));
  return binding.merge.run(views.merge, views.tokens, stream);
}

Result<void> SharedPrefixAttention::check(const Tensors& tensors) const {
  CUBINET_TRY_ASSIGN(const Binding::Views views, binding_->views(tensors));
  CUBINET_TRY(binding_->own.check(views.own));
  auto checked = binding_->prefix.check(views.prefix);
  return checked ? Result<void>{} : of_prefix(checked.error());
}

}  // namespace cubinet
