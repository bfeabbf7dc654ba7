// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/ok.hpp"
#include "templates/operation_class.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cubinet::test {

// A family that knows nothing of decode. Its kernels are those of a real template and differ in the
// number of stages. It plans the first kernel that it may use.
class FakeFamily final : public TemplateFamily {
 public:
  std::string_view name() const override { return template_name; }
  std::string gap(const AttentionProblem&, ComputeCapability) const override { return missing; }
  KernelSpec specification(const AttentionProblem& problem) const override {
    return KernelSpec{template_name, {}}
        .set("head_dim_qk", problem.head_dim_qk)
        .set("head_dim_v", problem.head_dim_v);
  }
  std::optional<KernelSpec> kernel_like(const AttentionProblem& problem,
                                        const KernelSpec& other) const override {
    const auto stages = other.parameters.find("stages");
    if (stages == other.parameters.end()) return std::nullopt;
    return kernel(problem, std::get<std::int64_t>(stages->second));
  }
  std::optional<KernelSpec> kernel_like(const AttentionProblem& problem,
                                        const KernelRow& other) const override {
    return kernel(problem, other.traits.stages);
  }
  bool is_compared(const AttentionProblem&) const override { return compared; }
  Result<FamilyPlan> plan(const PlanRequest& request, const FamilyKernels& kernels) const override {
    if (!failure.empty()) return Error{ErrorCode::unsupported, failure};
    FamilyPlan plan;
    plan.steps.push_back({kernels.of_family ? kernels.of_family->front() : kernel(request.problem, 3),
                          {7, 1, 1},
                          request.options.starts_early,
                          2});
    if (follower && (!kernels.may_use || kernels.may_use(*follower)))
      plan.steps.push_back({*follower, {5, 1, 1}, true});
    plan.workspace.scratch_bytes = 512;
    plan.rules.reads_offsets = true;
    plan.division.kv_splits = 9;
    plan.cost = {kernels.of_family ? existing_time : best_time, true};
    return plan;
  }
  std::vector<FamilyAlternative> alternatives(const PlanRequest& request,
                                              const KernelTemplate&) const override {
    std::vector<FamilyAlternative> found;
    for (const double time : times) {
      found.push_back({request.options, time});
      found.back().options.splits = static_cast<std::uint32_t>(time);
    }
    return found;
  }

  // Returns the kernel with the template's defaults. The template need not have it.
  KernelSpec kernel(const AttentionProblem& problem, std::int64_t stages) const {
    const auto kernel_template = ok(ok(TemplateCatalog::builtin()).find(template_name));
    return ok(kernel_template->resolve(specification(problem))).set("stages", stages);
  }

  std::string template_name = "attention_decode";
  std::string missing;  // its gap
  std::string failure;  // the reason why plan() fails
  std::optional<KernelSpec> follower;
  bool compared = false;
  double best_time = 40;
  double existing_time = 41;  // of its plans with kernels that it was given
  std::vector<double> times;  // of its alternatives, each with as many splits
};

class FakeClass final : public OperationClass {
 public:
  explicit FakeClass(std::vector<FakeFamily> families, std::string missing = "")
      : families_(std::move(families)), missing_(std::move(missing)) {}

  std::string gap(const AttentionProblem&, ComputeCapability) const override { return missing_; }
  std::vector<std::shared_ptr<const TemplateFamily>> families(const PlanRequest&) const override {
    std::vector<std::shared_ptr<const TemplateFamily>> families;
    for (const FakeFamily& family : families_)
      families.push_back(std::make_shared<const FakeFamily>(family));
    return families;
  }

 private:
  std::vector<FakeFamily> families_;
  std::string missing_;
};

}  // namespace cubinet::test
