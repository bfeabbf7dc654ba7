// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/kernel_templates/kernel_template.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The interface between the planner of templates (family_planner.hpp) and the classes of attention
// that it plans, such as decode. Each class has a folder of its own, which knows its families,
// their tiles, arguments, division of work and costs.
namespace cubinet {

// One launch of a family's plan. The declaration of its template adds the entry point, threads and
// shared memory.
struct FamilyStep {
  KernelSpec kernel;  // complete
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  bool starts_early = false;    // PlanStep::starts_early
  std::uint32_t counts_on = 0;  // PlanStep::counts_on
};

// A plan of one problem with the kernels of one family.
struct FamilyPlan {
  std::vector<FamilyStep> steps;                    // the first has a kernel of the family's template
  std::shared_ptr<const ArgumentWriter> arguments;  // of all steps
  WorkspaceSizes workspace;
  AttentionPlan::TensorRules rules;
  WorkDivision division;
  KernelCost cost;
  double compared_time = 0;  // AttentionPlan::compared_time
};

// The kernels that a plan of a family may use.
struct FamilyKernels {
  // The kernels of the family's template, in order of preference among equally fast ones. nullopt:
  // all of them.
  std::optional<std::vector<KernelSpec>> of_family = std::nullopt;
  // Returns whether the plan may use a kernel of another template. Empty: it may use all of them.
  Callback<bool(const KernelSpec&)> may_use = {};
};

// A candidate to run a problem with, and its time by the cost model.
struct FamilyAlternative {
  PlanOptions options;
  double time = 0;
};

// A family of an operation class: a template whose kernels differ in parameters that the family
// chooses, such as the tile. Immutable and thread-safe.
//
// REQUIRES for all functions: OperationClass::gap() finds nothing. For all but name() and gap():
// gap() finds nothing.
class TemplateFamily {
 public:
  virtual ~TemplateFamily() = default;
  virtual std::string_view name() const = 0;  // name of the template
  // Returns one sentence that states what the family has no kernel for, or an empty string. It need
  // not repeat what the template's declaration states about parameters and targets.
  virtual std::string gap(const AttentionProblem& problem, ComputeCapability device) const = 0;
  // Returns the specification without the parameters that the family chooses. All kernels for the
  // problem share it.
  virtual KernelSpec specification(const AttentionProblem& problem) const = 0;
  // Return the kernel for the problem that has the chosen parameters of another kernel of the
  // template, or nullopt if the other kernel does not state them. The row may come from any file,
  // so the template may refuse the result. REQUIRES: the template resolves the specification.
  virtual std::optional<KernelSpec> kernel_like(const AttentionProblem& problem,
                                                const KernelSpec& other) const = 0;
  virtual std::optional<KernelSpec> kernel_like(const AttentionProblem& problem,
                                                const KernelRow& other) const = 0;
  // Returns whether its estimates for the problem are comparable with those of the other families
  // of which this is true. The fastest of them serves the problem.
  virtual bool is_compared(const AttentionProblem& problem) const = 0;
  // Returns the fastest plan by the request's cost model, or an error with the reason why there is
  // none.
  virtual Result<FamilyPlan> plan(const PlanRequest& request, const FamilyKernels& kernels) const = 0;
  // Returns other options with which the family can run the problem, for the tuner to measure.
  virtual std::vector<FamilyAlternative> alternatives(const PlanRequest& request,
                                                      const KernelTemplate& kernel_template) const = 0;
};

// A class of attention, such as decode. Immutable and thread-safe.
class OperationClass {
 public:
  virtual ~OperationClass() = default;
  // Returns one sentence that states what no family of the class serves, or an empty string if
  // families may serve the problem.
  virtual std::string gap(const AttentionProblem& problem, ComputeCapability device) const = 0;
  // Returns whether the class is queried before those of which this is false. Among equals the
  // order of make_template_backend() counts.
  virtual bool precedes(const PlanRequest&) const { return false; }
  // Returns the families in the order in which they are queried: preferred ones first. REQUIRES:
  // gap() finds nothing.
  virtual std::vector<std::shared_ptr<const TemplateFamily>> families(const PlanRequest& request) const = 0;
};

}  // namespace cubinet
