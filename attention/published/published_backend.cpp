// SPDX-License-Identifier: Apache-2.0
#include "published_backend.hpp"

#include "explanation.hpp"
#include "selection.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

namespace cubinet {
namespace {

constexpr const char* kNotLaunchable =
    "the structure of its arguments belongs to another project, so it is chosen, sized and verified only";
constexpr std::size_t kNearestListed = 3;

BackendDecline decline(std::string reason) {
  return {std::string(kPublishedBackend), std::move(reason), {}, {}};
}

// What the table cannot say, in a sentence; empty where the rows are to be asked.
std::string unserved(const PlanRequest& request) {
  const AttentionProblem& problem = request.problem;
  const bool assumed = request.options.assumes_all_kernels;
  if (!assumed && request.kernels.of(kPublishedImplementation).rows()->empty())
    return "there are no rows of published artifacts";
  // The published rows of latent attention apply the causal limit of their query tokens under the name
  // dense: they would ignore that none is wanted.
  if (!assumed && problem.is_mla_generation() && problem.q_len > 1 && problem.mask == AttentionMask::dense)
    return "the published kernels of latent attention limit query tokens causally, and the mask is dense";
  if (request.options.splits.value_or(1) != 1)
    return "the rules of published kernels divide KV themselves: they take no other number of splits than 1";
  return "";
}

SelectionPolicy policy_of(const PlanRequest& request) {
  SelectionPolicy policy;
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

// The kernel and, where it does not reduce by itself, the reduction behind it, of which there is none yet.
std::vector<PlanStep> steps_of(const Selection& selection) {
  const LaunchConfiguration& launch = selection.launch;
  std::vector<PlanStep> steps(1);
  if (selection.row != nullptr) steps[0].kernel = published_spec(*selection.row);
  steps[0].grid = launch.grid;
  steps[0].cluster_x = launch.cluster_x;
  steps[0].threads = launch.threads;
  steps[0].shared_bytes = launch.shared_bytes;
  if (launch.cluster_x > 1)
    steps[0].counts_on = static_cast<std::uint32_t>(launch.total_ctas() / launch.cluster_x);
  if (launch.reduction) {
    PlanStep& reduction = steps.emplace_back();
    reduction.grid = launch.reduction->grid;
    reduction.threads = launch.reduction->threads;
    reduction.starts_early = true;
  }
  return steps;
}

AttentionPlan plan_of(const Selection& selection) {
  AttentionPlan plan;
  plan.steps = steps_of(selection);
  plan.workspace = selection.workspace;
  plan.division = {selection.launch.ctas_kv, selection.kernel.selector.multi_ctas_kv_mode,
                   selection.launch.heads_per_cta, selection.launch.tokens_per_cta_q,
                   selection.launch.wasted_rows};
  if (selection.row != nullptr) {
    plan.row = *selection.row;
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
  plan.not_launchable = kNotLaunchable;
  return plan;
}

class PublishedBackend final : public AttentionBackend {
 public:
  std::string_view name() const override { return kPublishedBackend; }

  Result<Consideration> consider(const PlanRequest& request) const override {
    if (std::string reason = unserved(request); !reason.empty()) return decline(std::move(reason));
    const auto tables = request.kernels.tables(kPublishedImplementation);
    CUBINET_TRY_ASSIGN(Consideration answer, consider_table(request, *tables.front()));
    for (std::size_t i = 1; i < tables.size() && std::holds_alternative<BackendDecline>(answer); ++i) {
      CUBINET_TRY_ASSIGN(Consideration older, consider_table(request, *tables[i]));
      if (std::holds_alternative<AttentionPlan>(older)) return older;
    }
    if (auto* declined = std::get_if<BackendDecline>(&answer); declined != nullptr && tables.size() > 1) {
      declined->reason += "; nor do the rows of " + plural(tables.size() - 1, "older version") + " serve it";
    }
    return answer;
  }

 private:
  // A table is that of one version of a package, and is asked by itself.
  static Result<Consideration> consider_table(const PlanRequest& request, const KernelIndex& index) {
    CUBINET_TRY_ASSIGN(const Selection selection,
                       select(request.problem, request.device, index, policy_of(request)));
    std::vector<std::string> trace;
    if (request.options.explains) {
      trace = explain(request.problem, request.device, index, selection);
      trace.erase(trace.begin());  // the outcome, which is told by itself
    }
    if (selection.found) {
      AttentionPlan plan = plan_of(selection);
      plan.trace = std::move(trace);
      return Consideration(std::move(plan));
    }
    BackendDecline declined =
        decline(index.numbers().empty() ? none_runs_here(index)
                                        : miss_reason(request.problem, request.device, selection));
    declined.trace = std::move(trace);
    if (request.options.explains)
      declined.nearest = nearest_rows(index, selection.trace.wanted, kNearestListed);
    return Consideration(std::move(declined));
  }

  static std::string none_runs_here(const KernelIndex& index) {
    const KernelIndex::Usage& usage = index.usage();
    std::string reason = "none of the " +
                         plural(usage.other_targets + usage.not_understood, "published row") + " runs on " +
                         index.device().to_string();
    if (usage.not_understood > 0) reason += ": " + usage.passed_over();
    return reason;
  }
};

}  // namespace

std::shared_ptr<const AttentionBackend> make_published_backend() {
  return std::make_shared<const PublishedBackend>();
}

}  // namespace cubinet
