// SPDX-License-Identifier: Apache-2.0
#include "published_backend.hpp"

#include "argument_layout.hpp"
#include "explanation.hpp"
#include "following_steps.hpp"
#include "published_arguments.hpp"
#include "published_maps.hpp"
#include "selection.hpp"
#include "size_limits.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/kernel_table/row_codec.hpp>
#include <cubinet/kernel_table/selection_rules.hpp>

#include <bit>

namespace cubinet {
namespace {

constexpr std::size_t kNearestListed = 3;

BackendDecline decline(std::string reason) {
  return {std::string(kPublishedBackend), std::move(reason), {}, {}};
}

// Returns one sentence on a limit that the table cannot express. Empty: query the rows.
std::string unserved(const PlanRequest& request) {
  const AttentionProblem& problem = request.problem;
  const bool assumed = request.options.assumes_all_kernels;
  if (!assumed && request.kernels.of(kPublishedImplementation).rows().empty())
    return "there are no rows of published artifacts";
  // The published rows of latent attention apply the causal limit of their query tokens even if
  // they are called dense. They would ignore that the problem's mask is dense.
  if (!assumed && problem.is_mla_generation() && problem.q_len > 1 && problem.mask == AttentionMask::dense)
    return "the published kernels of latent attention limit query tokens causally, and the mask is dense";
  if (problem.append && problem.append->lengths_exclude_new)
    return "published kernels read lengths that include the new tokens";
  if (problem.layout == QkvLayout::paged_kv && !std::has_single_bit(problem.tokens_per_page))
    return "published kernels have pages of a power of two of tokens";
  if (problem.is_invariant()) return "published kernels have an arithmetic of their own";
  if (problem.kv_scales != KvScales::none)
    return "published kernels have one scale of the logits and one of the output, and none of KV heads";
  if (problem.soft_cap) return "no published kernel is known to bound logits by a soft cap";
  if (problem.is_windowed() && !problem.is_sliding())
    return "no published kernel joins a custom mask with a window";
  if (request.options.splits.value_or(1) != 1)
    return "the rules of published kernels divide KV themselves: they take no other number of splits than 1";
  if (request.options.split_tokens)
    return "the rules of published kernels divide KV themselves: splits of a fixed length are not among them";
  return "";
}

// Returns why the sizes of a selected launch exceed what its kernels count to, or an empty string.
std::string too_large(const AttentionProblem& problem, const Selection& selection) {
  const std::string sizes = "`AttentionProblem::batch` " + std::to_string(problem.batch) +
                            ", `AttentionProblem::q_len` " + std::to_string(problem.q_len) +
                            " and `AttentionProblem::heads_q` " + std::to_string(problem.heads_q);
  // The offsets of ragged_q are int32, so only they bound the tokens of a ragged batch.
  if (!problem.ragged_q && query_tokens(problem) > kLargestCount) {
    return "`AttentionProblem::batch` " + std::to_string(problem.batch) +
           " times `AttentionProblem::q_len` " + std::to_string(problem.q_len) + " is " +
           std::to_string(query_tokens(problem)) +
           " query tokens, and published kernels count to 2^31 - 1; plan fewer at a time";
  }
  if (problem.lse && lse_blocks(problem) > kMaximumGridX) {
    return "the log-sum-exp of " + sizes +
           " takes a grid of more than 2^31 - 1 blocks; plan fewer query tokens at a time";
  }
  if (selection.workspace.scratch_bytes > kLargestTensorBytes)
    return "the workspace of " + sizes + " exceeds 2^56 bytes; plan fewer query tokens at a time";
  return "";
}

SelectionPolicy policy_of(const PlanRequest& request, const KernelIndex& index) {
  SelectionPolicy policy;
  std::string_view version = request.options.rules ? *request.options.rules : std::string_view();
  // A table belongs to one header.
  if (!index.rows().empty()) {
    const KernelRow& row = *index.rows().front();
    const PublishedHeader* header = find_published_header(row);
    if (header != nullptr && version.empty()) version = header->rules;
    const ArgumentLayout* layout = find_argument_layout(row.layout);
    policy.keeps_stats_of_ragged = layout != nullptr && layout->keeps_stats_of_ragged;
  }
  if (const SelectionRules* rules = find_rules(version)) policy.rules = *rules;
  policy.splits_kv = !request.options.splits;
  policy.assumes_all_kernels = request.options.assumes_all_kernels;
  policy.targets = request.options.targets;
  policy.costs = &request.costs();
  if (!request.options.occupancy.empty()) {
    policy.maximum_active_clusters = [&request](const KernelRow& row, std::uint32_t) {
      return request.occupancy_of(published_spec(row)).value_or(kUnlimited);
    };
  }
  return policy;
}

// Returns the feature that no recording of the publisher's launcher covers, so its arguments are
// unknown.
std::string unrecorded(const AttentionProblem& problem) {
  if (problem.mask == AttentionMask::custom)
    return "the publisher's own launcher ignores custom masks: how its kernels take them is not known";
  if (problem.sparse != SparseAttention::none) return "how its kernels take sparse attention is not known";
  if (problem.skips_softmax) return "the argument by which its kernels skip softmax is not known";
  if (problem.chunk != kUnlimited) return "the publisher's own launcher never asks for chunks";
  if (problem.sage_block != decltype(problem.sage_block){})
    return "how its kernels take Sage attention's scales is not known";
  if (problem.layout == QkvLayout::contiguous_kv || problem.layout == QkvLayout::packed_qkv)
    return "the publisher's own launcher has no caller for " + std::string(to_string(problem.layout));
  return "";
}

std::string not_launchable(const PlanRequest& request, const KernelRow* row) {
  if (row == nullptr) return "it is only assumed to exist";
  if (std::string reason = unrecorded(request.problem); !reason.empty()) return reason;
  if (const ArgumentLayout* layout = find_argument_layout(row->layout)) {
    const AttentionProblem& problem = request.problem;
    const bool by_head = problem.layout == QkvLayout::paged_kv && problem.kv_order == KvOrder::hnd;
    if (kv_reshape(problem, *layout) > 1 && !by_head && problem.heads_kv > 1)
      return "it reads two tokens of a KV head as one row, so pages have to lie head by head";
    return "";
  }
  const PublishedHeader* header = find_published_header(*row);
  if (header != nullptr && row->layout.empty()) {
    return "its cubin takes an argument of another size than the kernels of " +
           std::string(header->publisher) + " (" + std::to_string(header->argument_bytes) +
           " bytes), so how it is laid out is not known";
  }
  return header != nullptr
             ? "how " + std::string(header->publisher) + " lays out its kernels' arguments is not known"
             : "the metadata header that lists it is none whose argument layout is known (" + row->pin + ")";
}

// Returns the kernel and the steps that follow it. Without a known layout no step has an argument.
std::vector<PlanStep> steps_of(const PlanRequest& request, const Selection& selection) {
  const LaunchConfiguration& launch = selection.launch;
  const ArgumentLayout* layout =
      selection.row != nullptr ? find_argument_layout(selection.row->layout) : nullptr;
  const auto published = std::make_shared<const PublishedLaunch>(PublishedLaunch{
      request.problem, selection.kernel, launch, selection.workspace, request.device.sm_count, layout});
  std::vector<PlanStep> steps = following_steps(published);
  PlanStep& main = *steps.emplace(steps.begin());
  main.grid = launch.grid;
  main.cluster_x = launch.cluster_x;
  main.threads = launch.threads;
  main.shared_bytes = launch.shared_bytes;
  main.starts_early = request.options.starts_early;
  if (launch.cluster_x > 1)
    main.counts_on = static_cast<std::uint32_t>(launch.total_ctas() / launch.cluster_x);
  if (selection.row == nullptr) return steps;
  main.kernel = published_spec(*selection.row);
  main.entry_point = selection.row->function_name;
  if (layout != nullptr) main.arguments = std::make_shared<const PublishedArguments>(published);
  return steps;
}

AttentionPlan plan_of(const PlanRequest& request, const Selection& selection) {
  AttentionPlan plan;
  plan.steps = steps_of(request, selection);
  const bool context = selection.kernel.selector.kernel_type == KernelType::context;
  const ArgumentLayout* layout =
      selection.row != nullptr ? find_argument_layout(selection.row->layout) : nullptr;
  plan.rules = {.reads_offsets = context || request.problem.ragged_q,
                .reads_kv_offsets = !request.problem.is_generation(),
                .contiguous_o = true,
                .lse_as_planned = true,
                .counts_in_31_bits = true,
                .kv_tokens_per_row = layout != nullptr ? kv_reshape(request.problem, *layout) : 1};
  plan.workspace = selection.workspace;
  plan.division = {selection.launch.ctas_kv, selection.kernel.selector.multi_ctas_kv_mode,
                   selection.launch.heads_per_cta, selection.launch.tokens_per_cta_q,
                   selection.launch.wasted_rows};
  if (selection.row != nullptr) {
    plan.row = *selection.row;
    plan.kernel_version = selection.row->pin;
  } else {
    plan.row.selector = selection.kernel.selector;
    plan.row.traits = selection.kernel.traits;
    plan.row.threads = selection.kernel.threads;
    plan.row.implementation = kPublishedImplementation;
  }
  plan.cost = selection.cost;
  for (std::size_t i = 0; i < selection.trace.candidate_count; ++i) {
    const TraceCandidate& candidate = selection.trace.candidates[i];
    plan.candidates.push_back(
        {candidate.tile_size_q, candidate.exists, candidate.kv_splits, candidate.ctas, candidate.time});
  }
  plan.passes = selection.trace.pass_count;
  plan.not_launchable = not_launchable(request, selection.row);
  return plan;
}

class PublishedBackend final : public AttentionBackend {
 public:
  std::string_view name() const override { return kPublishedBackend; }

  Result<PlanDecision> consider(const PlanRequest& request) const override {
    if (std::string reason = unserved(request); !reason.empty()) return decline(std::move(reason));
    if (request.options.kernel) return decline("the published kernel is chosen by rules, and one was named");
    const auto tables = request.kernels.tables(kPublishedImplementation);
    CUBINET_TRY_ASSIGN(PlanDecision answer, consider_table(request, *tables.front()));
    for (std::size_t i = 1; i < tables.size() && std::holds_alternative<BackendDecline>(answer); ++i) {
      CUBINET_TRY_ASSIGN(PlanDecision older, consider_table(request, *tables[i]));
      if (std::holds_alternative<AttentionPlan>(older)) return older;
    }
    if (auto* declined = std::get_if<BackendDecline>(&answer); declined != nullptr && tables.size() > 1) {
      declined->reason += "; nor do the rows of " + plural(tables.size() - 1, "older version") + " serve it";
    }
    return answer;
  }

 private:
  // Queries one table. A table belongs to one version of a package.
  static Result<PlanDecision> consider_table(const PlanRequest& request, const KernelIndex& index) {
    CUBINET_TRY_ASSIGN(const Selection selection,
                       select(request.problem, request.device, index, policy_of(request, index)));
    std::vector<std::string> trace;
    if (request.options.explains) {
      trace = explain(request.problem, request.device, index, selection);
      trace.erase(trace.begin());  // the outcome is reported separately
    }
    std::string excess = selection.found ? too_large(request.problem, selection) : std::string();
    if (selection.found && excess.empty()) {
      AttentionPlan plan = plan_of(request, selection);
      plan.trace = std::move(trace);
      return PlanDecision(std::move(plan));
    }
    BackendDecline declined =
        decline(selection.found           ? std::move(excess)
                : index.numbers().empty() ? none_runs_here(index)
                                          : miss_reason(request.problem, request.device, selection));
    declined.trace = std::move(trace);
    if (request.options.explains && !selection.found)
      declined.nearest = nearest_rows(index, selection.trace.wanted, kNearestListed);
    return PlanDecision(std::move(declined));
  }

  static std::string none_runs_here(const KernelIndex& index) {
    const KernelIndex::Usage& usage = index.usage();
    const std::size_t rows = usage.other_targets + usage.refused + usage.not_understood;
    std::string reason =
        "none of the " + plural(rows, "published row") + " runs on " + index.device().to_string();
    if (usage.refused > 0)
      reason += " and is allowed: the policy refuses the targets of " + plural(usage.refused, "row");
    if (usage.not_understood > 0) reason += ": " + usage.passed_over();
    return reason;
  }
};

}  // namespace

std::shared_ptr<const AttentionBackend> make_published_backend() {
  return std::make_shared<const PublishedBackend>();
}

}  // namespace cubinet
