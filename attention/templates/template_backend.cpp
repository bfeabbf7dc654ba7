// SPDX-License-Identifier: Apache-2.0
#include "template_backend.hpp"

#include "family_planner.hpp"

#include <cubinet/attention/tuning_candidates.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/kernel_templates/template_catalog.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

class TemplateBackend final : public AttentionBackend {
 public:
  TemplateBackend(TemplateCatalog catalog, std::vector<std::shared_ptr<const OperationClass>> classes)
      : catalog_(std::move(catalog)), classes_(std::move(classes)) {
    for (const auto& kernel_template : catalog_.list())
      versions_.emplace(kernel_template->name(), version_of(*kernel_template));
  }

  std::string_view name() const override { return kTemplatesBackend; }

  // Returns the plan of the first family that serves the problem. The trace states why the classes
  // and families before it do not.
  Result<PlanDecision> consider(const PlanRequest& request) const override {
    std::vector<std::string> reasons;
    for (const auto& operation : classes_) {
      std::string gap = operation->gap(request.problem, request.device.capability);
      if (!gap.empty()) {
        reasons.push_back(std::move(gap));
        continue;
      }
      for (const auto& family : operation->families(request)) {
        CUBINET_TRY_ASSIGN(FamilyAnswer answer, plan_with_family(*family, catalog_, request));
        if (auto* plan = std::get_if<AttentionPlan>(&answer)) {
          plan->kernel_version = versions_.find(family->name())->second;
          if (request.options.explains)
            plan->trace.insert(plan->trace.begin(), reasons.begin(), reasons.end());
          return PlanDecision(std::move(*plan));
        }
        reasons.push_back(std::get<std::string>(std::move(answer)));
      }
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
        CUBINET_TRY_ASSIGN(const auto kernel_template, catalog_.find(family->name()));
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
  TemplateCatalog catalog_;
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
