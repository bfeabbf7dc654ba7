// SPDX-License-Identifier: Apache-2.0
#include "append/append_step.hpp"

#include <cubinet/attention/tuning_candidates.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

const PlanStep& attending_step(const AttentionPlan& plan) {
  return plan.steps[plan.attention_step()];
}

bool is_same_way(const AttentionPlan& a, const AttentionPlan& b) {
  const PlanStep& one = attending_step(a);
  const PlanStep& other = attending_step(b);
  return a.backend == b.backend && one.kernel == other.kernel && one.grid == other.grid &&
         a.division.kv_splits == b.division.kv_splits && a.steps.size() == b.steps.size();
}

// Returns nullopt if the backend declines or its plan cannot be launched.
Result<std::optional<AttentionPlan>> plan_with(const AttentionBackend& backend, const PlanRequest& request) {
  CUBINET_TRY_ASSIGN(PlanDecision answer, consider(backend, request));
  auto* plan = std::get_if<AttentionPlan>(&answer);
  if (plan == nullptr || !plan->launchable()) return std::optional<AttentionPlan>();
  plan->request = request;
  plan->backend = backend.shared_from_this();
  return std::optional(std::move(*plan));
}

// Returns the same plan with its kernel named, if the backend accepts that.
Result<AttentionPlan> with_named_kernel(AttentionPlan plan) {
  const auto* kernel = std::get_if<KernelSpec>(&attending_step(plan).kernel);
  if (kernel == nullptr) return plan;
  PlanRequest named = plan.request;
  named.options.kernel = *kernel;
  CUBINET_TRY_ASSIGN(auto again, plan_with(*plan.backend, named));
  return again && is_same_way(*again, plan) ? *std::move(again) : std::move(plan);
}

class CandidateList {
 public:
  explicit CandidateList(const CandidateLimits& limits) : limits_(limits) {}

  void add(AttentionPlan plan) {
    if (std::any_of(plans_.begin(), plans_.end(),
                    [&](const AttentionPlan& there) { return is_same_way(there, plan); }))
      return;
    plans_.push_back(std::move(plan));
  }
  // Adds a plan. The model does not rank kernels of different templates, because its constants are
  // fitted to each template separately. Divisions of the first plan's kernel are added whatever the
  // model estimates, since the first plan may be wrong about the splits alone. REQUIRES: the plans
  // of one template are in the model's order, and the list has a first plan.
  void add_ranked(AttentionPlan plan) {
    const auto* kernel = std::get_if<KernelSpec>(&attending_step(plan).kernel);
    if (kernel == nullptr) return;
    OfTemplate& others = by_template_[kernel->name];
    if (others.fastest == 0) others.fastest = plan.cost.time;
    const std::string name = kernel->to_string();
    if (attending_step(plans_.front()).kernel != attending_step(plan).kernel) {
      if (plan.cost.time > limits_.relative_cost * others.fastest) return;
      if (others.divisions.count(name) == 0 && others.divisions.size() >= limits_.kernels) return;
    }
    if (others.divisions[name] == limits_.divisions) return;
    ++others.divisions[name];
    add(std::move(plan));
  }
  std::vector<AttentionPlan> take() { return std::move(plans_); }

 private:
  struct OfTemplate {
    double fastest = 0;
    std::map<std::string, std::size_t> divisions;  // number of listed divisions of each kernel
  };

  CandidateLimits limits_;
  std::map<std::string, OfTemplate> by_template_;
  std::vector<AttentionPlan> plans_;
};

}  // namespace

Result<std::vector<AttentionPlan>> tuning_candidates(const PlanRequest& request,
                                                     const AttentionBackends& backends,
                                                     const CandidateLimits& limits) {
  PlanOptions options = request.options;
  options.uses_tuning = false;
  options.launches = true;
  CUBINET_TRY_ASSIGN(AttentionResolution resolution,
                     resolve_attention(request.problem, request.device, request.kernels, backends, options));
  if (!resolution.plan) return resolution.error();
  CUBINET_TRY_ASSIGN(AttentionPlan model, with_named_kernel(*std::move(resolution.plan)));
  const PlanRequest asked{request.problem, request.device, request.kernels, options};
  CandidateList list(limits);
  list.add(std::move(model));
  for (const auto& backend : backends.order_of(backends.rule_for(asked))) {
    if (options.backend != kAutomaticBackend && options.backend != backend->name()) continue;
    CUBINET_TRY_ASSIGN(auto own, plan_with(*backend, asked));
    if (!own) continue;
    CUBINET_TRY_ASSIGN(AttentionPlan named, with_named_kernel(*std::move(own)));
    list.add(std::move(named));
    CUBINET_TRY_ASSIGN(const std::vector<PlanOptions> alternatives, backend->alternatives(asked));
    PlanRequest tried = asked;
    for (const PlanOptions& alternative : alternatives) {
      tried.options = alternative;
      CUBINET_TRY_ASSIGN(auto plan, plan_with(*backend, tried));
      if (plan) list.add_ranked(*std::move(plan));
    }
  }
  return list.take();
}

}  // namespace cubinet
