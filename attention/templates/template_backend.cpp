// SPDX-License-Identifier: Apache-2.0
#include "template_backend.hpp"

#include "family_planner.hpp"

#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/text.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

// Classes and families share some reasons, such as those of invariant numerics and of splits.
void add_reason(std::vector<std::string>& reasons, std::string reason) {
  if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
    reasons.push_back(std::move(reason));
}

class TemplateBackend final : public AttentionBackend {
 public:
  TemplateBackend(TemplateCatalog catalog, std::vector<std::shared_ptr<const OperationClass>> classes)
      : declared_(std::move(catalog)), classes_(std::move(classes)) {
    for (const auto& kernel_template : declared_.catalog().list())
      versions_.emplace(kernel_template->name(), version_of(*kernel_template));
  }

  std::string_view name() const override { return kTemplatesBackend; }

  // Returns the plan of the first family that serves the problem, or of a faster one if both are
  // compared by the cost model. The trace states why the classes and families before it do not.
  Result<PlanDecision> consider(const PlanRequest& request) const override {
    std::vector<std::string> reasons;
    auto classes = classes_;
    std::stable_partition(classes.begin(), classes.end(),
                          [&](const auto& operation) { return operation->precedes(request); });
    for (const auto& operation : classes) {
      std::string gap = operation->gap(request.problem, request.device.capability);
      if (!gap.empty()) {
        add_reason(reasons, std::move(gap));
        continue;
      }
      CUBINET_TRY_ASSIGN(auto plan, fastest(operation->families(request), request, reasons));
      if (!plan) continue;
      if (request.options.explains) plan->trace.insert(plan->trace.begin(), reasons.begin(), reasons.end());
      return PlanDecision(*std::move(plan));
    }
    return BackendDecline{std::string(kTemplatesBackend), join(reasons, "; "), {}, {}};
  }

  Result<std::vector<PlanOptions>> alternatives(const PlanRequest& request) const override {
    const ComputeCapability device = request.device.capability;
    std::vector<FamilyAlternative> found;
    for (const auto& operation : classes_) {
      if (!operation->gap(request.problem, device).empty()) continue;
      for (const auto& family : operation->families(request)) {
        if (!family->gap(request.problem, device).empty()) continue;
        CUBINET_TRY_ASSIGN(const auto kernel_template, declared_.catalog().find(family->name()));
        for (FamilyAlternative& alternative : family->alternatives(request, *kernel_template))
          found.push_back(std::move(alternative));
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const FamilyAlternative& a, const FamilyAlternative& b) { return a.time < b.time; });
    std::vector<PlanOptions> options;
    for (FamilyAlternative& alternative : found)
      options.push_back(std::move(alternative.options));
    return options;
  }

 private:
  // Returns the plan of one of the families, or nullopt. Appends the reasons of the others.
  Result<std::optional<AttentionPlan>> fastest(
      const std::vector<std::shared_ptr<const TemplateFamily>>& families, const PlanRequest& request,
      std::vector<std::string>& reasons) const {
    std::optional<AttentionPlan> best;
    for (const auto& family : families) {
      // Splits of a fixed length promise the same bits, so no estimate chooses their kernel.
      if (best && (!family->is_compared(request.problem) || request.options.split_tokens)) continue;
      CUBINET_TRY_ASSIGN(FamilyAnswer answer, plan_with_family(*family, declared_, request));
      if (auto* reason = std::get_if<std::string>(&answer)) {
        add_reason(reasons, std::move(*reason));
        continue;
      }
      auto& plan = std::get<AttentionPlan>(answer);
      plan.kernel_version = versions_.find(family->name())->second;
      if (!best || is_faster(plan, *best)) best = std::move(plan);
      if (!family->is_compared(request.problem)) break;
    }
    return best;
  }

  // Returns whether a plan is faster than another. A plan that needs no compilation counts as
  // faster if it is within kExistingBuildFactor.
  static bool is_faster(const AttentionPlan& plan, const AttentionPlan& other) {
    const double factor = plan.exists() == other.exists() ? 1.0
                          : plan.exists()                 ? 1 / kExistingBuildFactor
                                                          : kExistingBuildFactor;
    return plan.compared_time * factor < other.compared_time;
  }

  DeclaredKernels declared_;
  std::vector<std::shared_ptr<const OperationClass>> classes_;
  std::map<std::string, std::string, std::less<>> versions_;  // versions of the templates, by name
};

}  // namespace

Result<std::shared_ptr<const AttentionBackend>> make_template_backend(
    std::vector<std::shared_ptr<const OperationClass>> classes) {
  CUBINET_TRY_ASSIGN(TemplateCatalog catalog, TemplateCatalog::builtin());
  return std::shared_ptr<const AttentionBackend>(
      std::make_shared<const TemplateBackend>(std::move(catalog), std::move(classes)));
}

}  // namespace cubinet
