// SPDX-License-Identifier: Apache-2.0
#include "shared_prefix_plan.hpp"

#include "size_limits.hpp"

#include <cubinet/kernel_table/kernel_row.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace cubinet {
namespace {

// An attention that runs for longer starts when the kernel before it has ended, as after an append
// (append_step.cpp).
constexpr double kLongPrefixMicroseconds = 100;
constexpr std::uint32_t kMostGroups = 65'535;  // as AttentionProblem::batch

Error wrong_prefix(std::string_view field, std::uint64_t value, const std::string& allowed) {
  return Error{ErrorCode::invalid_argument, "`SharedPrefixProblem::" + std::string(field) + "` is " +
                                                std::to_string(value) + ": it must be " + allowed};
}

Error no_kernels(const std::string& reason, const std::string& remedy = {}) {
  return Error{ErrorCode::unsupported, "attention over shared prefixes: " + reason, remedy};
}

Result<void> check_prefix_sizes(const SharedPrefixProblem& problem) {
  const auto from_1 = [](std::uint64_t most) { return "from 1 to " + std::to_string(most); };
  if (problem.groups == 0 || problem.groups > kMostGroups)
    return wrong_prefix("groups", problem.groups, from_1(kMostGroups));
  if (problem.prefix_len == 0 || problem.prefix_len > kUnlimited)
    return wrong_prefix("prefix_len", problem.prefix_len, from_1(kUnlimited));
  const std::uint64_t all = query_tokens(problem.own);
  if (problem.query_tokens > all)
    return wrong_prefix("query_tokens", problem.query_tokens,
                        "at most batch times q_len, " + std::to_string(all));
  if (problem.query_tokens != 0 && problem.query_tokens != all && !problem.own.ragged_q)
    return wrong_prefix("query_tokens", problem.query_tokens,
                        "0 or " + std::to_string(all) + " without `ragged_q`");
  const std::uint64_t tokens = most_tokens(problem);
  if (tokens > kUnlimited)
    return wrong_prefix("query_tokens", problem.query_tokens,
                        from_1(kUnlimited) + ", and batch times q_len is " + std::to_string(all));
  if (problem.group_tokens > tokens)
    return wrong_prefix("group_tokens", problem.group_tokens,
                        "at most " + std::to_string(tokens) + ", the query tokens of all sequences");
  if (!problem.prefix_lengths.empty() && problem.prefix_lengths.size() != problem.groups)
    return wrong_prefix(
        "prefix_lengths", problem.prefix_lengths.size(),
        "of `SharedPrefixProblem::groups`, " + std::to_string(problem.groups) + ", lengths, or empty");
  for (const std::int32_t length : problem.prefix_lengths) {
    if (length >= 0 && static_cast<std::uint32_t>(length) <= problem.prefix_len) continue;
    return Error{ErrorCode::invalid_argument,
                 "a length of `SharedPrefixProblem::prefix_lengths` is " + std::to_string(length) +
                     ": it must be from 0 to `SharedPrefixProblem::prefix_len`, " +
                     std::to_string(problem.prefix_len)};
  }
  return {};
}

// Returns the type of O of both parts: that of the merged O, or a type of 16 bits instead of e4m3.
DataType part_type(const AttentionProblem& own) {
  if (own.data_type_o != DataType::e4m3) return own.data_type_o;
  return own.data_type_q == DataType::fp16 ? DataType::fp16 : DataType::bf16;
}

PlanOptions options_of_part(const AttentionProblem& part, PlanOptions options) {
  // Published kernels write log-sum-exps with q_len rows for each sequence, the merge reads one for
  // each token.
  if (part.ragged_q && options.backend == kAutomaticBackend) options.backend = kTemplatesBackend;
  return options;
}

Result<void> check_lse(const AttentionPlan& plan) {
  if (!plan.rules.lse_as_planned || !plan.request.problem.ragged_q) return {};
  return no_kernels("kernels of the backend '" + std::string(plan.backend_name()) +
                        "' do not write the log-sum-exps of ragged query tokens one after the other",
                    "use the backend 'templates'");
}

}  // namespace

Result<void> check_shared_prefix(const SharedPrefixProblem& problem) {
  const AttentionProblem& own = problem.own;
  CUBINET_TRY(check_prefix_sizes(problem));
  if (own.layout != QkvLayout::paged_kv)
    return no_kernels("K and V are not paged", "store K and V in pages, or attend without a shared prefix");
  const std::uint64_t all = std::uint64_t{problem.prefix_len} + own.kv_len;
  if (own.window != kUnlimited && own.window < all) {
    return no_kernels(
        "`AttentionProblem::window` is " + std::to_string(own.window) +
            ", which hides tokens of a prefix from some rows and not from others",
        "use a window of at least " + std::to_string(all) + " tokens, or attend without a shared prefix");
  }
  if (own.chunk != kUnlimited) return no_kernels("chunks hide tokens of a prefix");
  if (own.sparse != SparseAttention::none || own.skips_softmax)
    return no_kernels("all tokens of a prefix are read, and the problem is sparse or skips softmax");
  if (own.is_invariant()) {
    return no_kernels("a merge with a prefix adds in another order than invariant numerics",
                      "use fast numerics (`AttentionProblem::numerics`), or attend without a shared prefix");
  }
  if (own.kv_scales == KvScales::sequence) {
    return no_kernels("the sequences of a group read the same K and V, and each has scales of its own",
                      "give all sequences the same scales");
  }
  if (own.data_type_o == DataType::e2m1) return no_kernels("the merged O is not written as e2m1");
  if (!own.append) return {};
  if (!own.append->attends) return no_kernels("the problem only appends", "append with an AttentionProblem");
  if (own.append->rope_dim == 0 || own.append->positions) return {};
  return no_kernels("a token's position includes the prefix, and the append would count from the own tokens",
                    "set `Append::positions`");
}

std::uint64_t most_tokens(const SharedPrefixProblem& problem) {
  return problem.query_tokens != 0 ? problem.query_tokens : query_tokens(problem.own);
}

SharedPrefixParts shared_prefix_parts(const SharedPrefixProblem& problem) {
  SharedPrefixParts parts;
  AttentionProblem& own = parts.own;
  own = problem.own;
  own.window = kUnlimited;  // it hides nothing
  own.lse = true;
  own.data_type_o = part_type(problem.own);
  AttentionProblem& prefix = parts.prefix;
  prefix = own;
  prefix.batch = problem.groups;
  prefix.q_len =
      problem.group_tokens != 0 ? problem.group_tokens : static_cast<std::uint32_t>(most_tokens(problem));
  prefix.kv_len = problem.prefix_len;
  prefix.kv_lengths = problem.prefix_lengths;
  prefix.mask = AttentionMask::dense;
  prefix.prefill = false;
  prefix.ragged_q = true;
  prefix.sinks = false;  // the sinks belong to the own tokens
  prefix.append.reset();
  parts.merge.heads = own.heads_q;
  parts.merge.head_dim = own.head_dim_v;
  parts.merge.data_type = own.data_type_o;
  parts.merge.data_type_o = problem.own.data_type_o;
  parts.merge.starts_early = true;
  return parts;
}

Result<SharedPrefixPlan> plan_shared_prefix(const SharedPrefixProblem& problem,
                                            const AttentionPlanner& planner, PlanOptions options) {
  CUBINET_TRY(check_shared_prefix(problem));
  SharedPrefixParts parts = shared_prefix_parts(problem);
  SharedPrefixPlan plan;
  plan.problem = problem;
  plan.merge = parts.merge;
  plan.merge.may_load = options.may_load;

  PlanOptions of_own = options_of_part(parts.own, options);
  CUBINET_TRY_ASSIGN(AttentionPlan own, planner.plan(parts.own, of_own));
  CUBINET_TRY(check_lse(own));
  plan.own = {std::move(parts.own), std::move(of_own), std::move(own)};

  PlanOptions of_prefix = options_of_part(parts.prefix, std::move(options));
  of_prefix.kernel.reset();
  of_prefix.splits.reset();
  of_prefix.starts_early = true;
  std::optional<Error> declined;
  std::optional<AttentionPlan> best;
  for (const bool prompts : {false, true}) {
    parts.prefix.prefill = prompts;
    auto found = planner.plan(parts.prefix, of_prefix);
    if (!found && !declined) declined = found.error();
    if (!found || (best && best->cost.time <= found->cost.time)) continue;
    best = *std::move(found);
  }
  if (!best) {
    return Error{declined->code, "over the prefix: " + declined->message, declined->remedy, declined->detail,
                 declined->native};
  }
  CUBINET_TRY(check_lse(*best));
  parts.prefix.prefill = best->request.problem.prefill;
  if (best->cost.in_microseconds && best->cost.time > kLongPrefixMicroseconds) {
    of_prefix.starts_early = false;
    CUBINET_TRY_ASSIGN(best, planner.plan(parts.prefix, of_prefix));
  }
  plan.prefix = {std::move(parts.prefix), std::move(of_prefix), *std::move(best)};
  return plan;
}

}  // namespace cubinet
