// SPDX-License-Identifier: Apache-2.0
#include "benchmark/alternatives.hpp"

#include "benchmark/alternative_rounds.hpp"

#include <cubinet/attention/measure.hpp>
#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <optional>

namespace cubinet {
namespace {

// More candidates than the tuner times, because the cost model that orders them is what is judged.
constexpr CandidateLimits kLimits = {.kernels = 8, .divisions = 8, .relative_cost = 2.5};

// Returns whether two plans launch the same kernels in the same way.
bool launches_the_same(const AttentionPlan& a, const AttentionPlan& b) {
  return a.backend == b.backend && a.division.kv_splits == b.division.kv_splits &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                    [](const PlanStep& one, const PlanStep& other) {
                      return one.kernel == other.kernel && one.grid == other.grid;
                    });
}

std::string kernel_of(const AttentionPlan& plan) {
  const PlanStep& step = plan.steps[plan.attention_step()];
  const auto* specification = std::get_if<KernelSpec>(&step.kernel);
  return specification != nullptr ? specification->to_string() : step.entry_point;
}

BenchmarkAlternative describe_plan(const AttentionPlan& plan) {
  const PlanStep& step = plan.steps[plan.attention_step()];
  BenchmarkAlternative described;
  described.kernel = kernel_of(plan);
  described.splits = plan.division.kv_splits;
  described.blocks = std::uint64_t{step.grid[0]} * step.grid[1] * step.grid[2];
  described.combines_apart = plan.steps.size() > plan.attention_step() + 1;
  described.modelled = plan.cost;
  return described;
}

}  // namespace

Result<PlanAlternatives> PlanAlternatives::bind(Runtime& runtime, const AttentionPlanner& planner,
                                                const AttentionPlan& plan, int device, unsigned threads) {
  PlanOptions options = plan.request.options;
  options.kernel.reset();
  options.splits.reset();
  options.occupancy.clear();
  CUBINET_TRY_ASSIGN(const std::vector<AttentionPlan> candidates,
                     tuning_candidates(planner.request(plan.request.problem, std::move(options)),
                                       planner.backends(), kLimits));
  std::vector<std::optional<BoundAttention>> bound(candidates.size());
  parallel_for(candidates.size(), threads, [&](std::size_t i) {
    if (launches_the_same(candidates[i], plan)) return;
    if (auto loaded = BoundAttention::bind(runtime, candidates[i], device)) bound[i] = *std::move(loaded);
  });
  PlanAlternatives alternatives;
  for (std::optional<BoundAttention>& each : bound) {
    if (!each) continue;
    const WorkspaceSizes& workspace = each->plan().workspace;
    WorkspaceSizes& most = alternatives.workspace_;
    most.scratch_bytes = std::max(most.scratch_bytes, workspace.scratch_bytes);
    most.counter_bytes = std::max(most.counter_bytes, workspace.counter_bytes);
    alternatives.bound_.push_back(*std::move(each));
  }
  return alternatives;
}

Result<void> PlanAlternatives::measure(const std::shared_ptr<const Device>& device,
                                       const CheckedAttention& checked, const AttentionInputs& inputs,
                                       const AttentionOutputs& reference, std::uint32_t runs,
                                       const Callback<bool()>& cancelled, BenchmarkRow& row) const {
  const auto graph_of = [&](const BoundAttention& attention) {
    return TimedRuns::capture(device, runs, [&](std::uint32_t i, CUstream stream) {
      return attention.run(run_tensors(attention, checked.buffers, i % checked.buffers.copies()), stream);
    });
  };
  row.planned = describe_plan(checked.attention.plan());
  row.planned->correct = checked.verdict.correct();
  CUBINET_TRY_ASSIGN(const TimedRuns plan, graph_of(checked.attention));
  std::vector<TimedRuns> graphs;
  for (const BoundAttention& attention : bound_) {
    if (launches_the_same(attention.plan(), checked.attention.plan())) continue;
    CUBINET_TRY(checked.buffers.poison(/*scratch=*/false));
    CUBINET_TRY_ASSIGN(const AttentionVerdict verdict,
                       verdict_of(device, attention, checked.buffers, inputs, reference));
    row.alternatives.push_back(describe_plan(attention.plan()));
    row.alternatives.back().correct = verdict.correct();
    CUBINET_TRY_ASSIGN(TimedRuns graph, graph_of(attention));
    graphs.push_back(std::move(graph));
  }
  const BenchmarkAlternative* const first = row.alternatives.data();
  return time_alternatives(row.alternatives, [&](const BenchmarkAlternative* of) -> Result<double> {
    if (cancelled && cancelled()) return Error{ErrorCode::unavailable, "the benchmark was cancelled"};
    return (of == nullptr ? plan : graphs[static_cast<std::size_t>(of - first)]).seconds_a_run(1);
  });
}

}  // namespace cubinet
