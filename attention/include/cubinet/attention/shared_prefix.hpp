// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/merge.hpp>
#include <cubinet/attention/planner.hpp>
#include <cubinet/attention/workspace.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

// Attention of sequences that begin with the same tokens (a system prompt, a document). Each prefix
// is read once for all query tokens of its group, not once for each sequence.
namespace cubinet {

// One call of attention over shared prefixes, without its tensors. Groups of sequences share a
// prefix; a sequence without one is in a group whose prefix has no tokens. The query tokens of a
// group follow each other in Q, so the sequences of a batch are in the order of their groups. The
// tokens of the prefixes precede all query tokens: each query token sees all of its group's prefix.
// A plain value.
struct SharedPrefixProblem {
  // Attention over the tokens that belong to one sequence alone: its `kv_len`, `kv_lengths`, `mask`
  // and `append` do not count the prefix. K and V of the prefixes are pages of the same pools.
  AttentionProblem own;
  std::uint32_t groups = 1;
  std::uint32_t prefix_len = 1;  // the most tokens of a prefix
  // The most query tokens of all sequences. 0: batch times q_len; fewer only with ragged_q. The
  // workspace grows with them.
  std::uint32_t query_tokens = 0;
  std::uint32_t group_tokens = 0;  // the most query tokens of a group; 0: those of all sequences
  // The length of each prefix, if it is known at planning time. Affects the division of work only.
  std::vector<std::int32_t> prefix_lengths = {};

  friend bool operator==(const SharedPrefixProblem&, const SharedPrefixProblem&) = default;
};

// Returns invalid_argument with the field, its value and the allowed values. Returns unsupported
// for features that have no meaning or no kernels over a shared prefix: KV that is not paged,
// windows and chunks that hide a part of a prefix, sparse attention, invariant numerics, scales of
// KV heads of each sequence, and RoPE without positions. Does not make the checks of
// check_problem(problem.own).
Result<void> check_shared_prefix(const SharedPrefixProblem& problem);

// The plans of a problem's two attentions, and the problem of their merge. A plain value.
struct SharedPrefixPlan {
  // An attention of its own, as it was planned.
  struct Part {
    AttentionProblem problem;
    PlanOptions options;
    AttentionPlan plan;
  };

  SharedPrefixProblem problem;
  // Attention of the query tokens of each group to the group's prefix: dense, `ragged_q`, with
  // log-sum-exps, planned as generation or as prompts, whichever takes less time by the cost model.
  Part prefix;
  Part own;  // with log-sum-exps
  AttentionMerge::Problem merge;

  // The estimate of both attentions.
  double time() const { return prefix.plan.cost.time + own.plan.cost.time; }
};

// Plans both attentions. `options` are those of the own tokens; `kernel` and `splits` do not affect
// the prefix. Pure, like AttentionPlanner. Returns the errors of check_shared_prefix and
// AttentionPlanner::plan; those of the prefix say so.
Result<SharedPrefixPlan> plan_shared_prefix(const SharedPrefixProblem& problem,
                                            const AttentionPlanner& planner, PlanOptions options = {});

// A plan over shared prefixes with its kernels loaded on one device. A cheap handle with the
// guarantees of BoundAttention: immutable, thread-safe, and its runs may be captured.
class SharedPrefixAttention {
 public:
  struct Tensors {
    // The tensors of SharedPrefixProblem::own. `scratch` and `counters` have workspace(). O and, if
    // it is given, the log-sum-exp are those of prefix and own tokens together. Without ragged_q, Q
    // and O must have the strides of tokens that follow each other.
    AttentionTensors own;
    // [groups, pages of prefix_len], int32, like AttentionTensors::page_table.
    DeviceTensor prefix_page_table;
    DeviceTensor prefix_lengths;  // [groups], int32; 0 is allowed
    // [groups + 1], int32: the index in Q of the first query token of each group, then the number
    // of query tokens. The groups must cover all query tokens.
    DeviceTensor group_offsets;
  };

  // Finds, compiles and loads the kernels: BoundAttention::bind for both plans, and
  // AttentionMerge::bind. Returns their errors.
  static Result<SharedPrefixAttention> bind(Runtime& runtime, const SharedPrefixPlan& plan, int device);
  // Does the same with attentions that are bound already. REQUIRES: the problems of `plan`, on
  // `device`.
  static Result<SharedPrefixAttention> compose(Runtime& runtime, const SharedPrefixPlan& plan,
                                               BoundAttention prefix, BoundAttention own, int device);

  const SharedPrefixProblem& problem() const;
  // The attentions that are bound. Their plans and functions state the kernels of a run; the merge
  // follows.
  const BoundAttention& prefix() const;
  const BoundAttention& own() const;
  // One workspace for all kernels of a run, with the rules of WorkspaceSizes. Of its members only
  // counter_bytes and scratch_bytes are set.
  const WorkspaceSizes& workspace() const;
  Result<AttentionWorkspace> make_workspace() const;

  // Launches the kernels of the own tokens, then those of the prefixes and the merge, on one
  // stream, with the guarantees of BoundAttention::run. Serves all lengths and offsets up to the
  // problem's bounds. Returns an error (invalid_argument) that names a tensor with a wrong address,
  // size, stride or alignment, and the required value.
  Result<void> run(const Tensors& tensors, CUstream stream) const;

  // Makes the checks of run(), and queries the driver whether every tensor is in the device's
  // memory.
  Result<void> check(const Tensors& tensors) const;

 private:
  struct Binding;
  explicit SharedPrefixAttention(std::shared_ptr<const Binding> binding) : binding_(std::move(binding)) {}

  std::shared_ptr<const Binding> binding_;
};

}  // namespace cubinet
