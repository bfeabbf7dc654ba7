// SPDX-License-Identifier: Apache-2.0
#include "family_planner.hpp"

#include <algorithm>

namespace cubinet {
namespace {

// Returns the first row of an index that equals `wanted` in selector and traits, for a target that
// the request allows. Prefers family targets if the policy does.
const KernelRow* find_row(const KernelIndex& rows, const KernelRow& wanted, const TargetPolicy& targets) {
  for (const bool family_only : {true, false}) {
    if (family_only && !targets.prefers_family) continue;
    for (const std::uint32_t number : rows.find(wanted.selector)) {
      const KernelRow& row = rows.row(number);
      if (family_only && row.target.kind != TargetKind::family) continue;
      if (row.traits == wanted.traits && targets.allows(row.target)) return &row;
    }
  }
  return nullptr;
}

double compared_time(const FamilyPlan& plan) {
  return plan.compared_time > 0 ? plan.compared_time : plan.cost.time;
}

class FamilyPlanner {
 public:
  FamilyPlanner(const TemplateFamily& family, const DeclaredKernels& declared,
                const KernelTemplate& kernel_template, const PlanRequest& request)
      : family_(family), declared_(declared), template_(kernel_template), request_(request) {}

  Result<FamilyAnswer> plan() const {
    if (std::string gap = family_.gap(request_.problem, request_.device.capability); !gap.empty()) return gap;
    // The template itself declares its types, head dims and page sizes.
    const auto common = declared_.find(family_.specification(request_.problem));
    if (!common) {
      const Error& error = common.error();
      return error.remedy.empty() ? error.message : error.message + " (" + error.remedy + ")";
    }
    FamilyKernels kernels;
    if (!request_.options.may_compile) {
      kernels = existing_only((*common)->row);
      if (kernels.of_family->empty())
        return "no kernel of " + template_.name() + " for this problem exists here, and none may be compiled";
    }
    if (const auto& named = request_.options.kernel) {
      if (std::string reason = restrict_to(*named, kernels); !reason.empty()) return reason;
    }
    const auto made = family_.plan(request_, kernels);
    if (!made) return made.error().message;
    if (request_.options.kernel) {
      if (*request_.options.kernel != made->steps.front().kernel)
        return request_.options.kernel->to_string() + " is not for this problem";
      return finish(*made, KernelChoice::named);
    }
    if (!request_.options.may_compile) return finish(*made, KernelChoice::existing_only);
    if (!may_replace(*made)) return finish(*made, KernelChoice::best);
    const auto existing = existing_instead_of(*made, (*common)->row);
    return existing ? finish(*existing, KernelChoice::existing_near_best) : finish(*made, KernelChoice::best);
  }

 private:
  // Returns the kernels that need no compilation. `wanted` is the row of one of the problem's
  // kernels.
  FamilyKernels existing_only(const KernelRow& wanted) const {
    FamilyKernels kernels;
    kernels.of_family = existing_kernels(wanted);
    kernels.may_use = [this](const KernelSpec& spec) { return exists(spec); };
    return kernels;
  }

  // Returns whether existing builds may replace the best plan. Splits of a fixed length promise the
  // same bits in every batch, so their tile must not depend on the builds that exist.
  bool may_replace(const FamilyPlan& best) const {
    if (request_.options.assumes_all_kernels || request_.options.split_tokens) return false;
    if (request_.kernels.of(template_.name()).numbers().empty()) return false;
    return !std::all_of(best.steps.begin(), best.steps.end(),
                        [this](const FamilyStep& step) { return exists(step.kernel); });
  }

  // Returns the fastest plan over existing builds, or nullopt if the best plan is faster by more
  // than kExistingBuildFactor. `wanted` is the row of one of the problem's kernels.
  std::optional<FamilyPlan> existing_instead_of(const FamilyPlan& best, const KernelRow& wanted) const {
    const FamilyKernels kernels = existing_only(wanted);
    if (kernels.of_family->empty()) return std::nullopt;
    auto existing = family_.plan(request_, kernels);
    if (!existing || compared_time(*existing) > kExistingBuildFactor * compared_time(best))
      return std::nullopt;
    return *std::move(existing);
  }

  // Returns whether a build of a kernel of any template exists.
  bool exists(const KernelSpec& spec) const {
    const auto declared = declared_.find(spec);
    return declared &&
           find_row(request_.kernels.of(spec.name), (*declared)->row, request_.options.targets) != nullptr;
  }

  // Returns the kernels for the problem that have an allowed build. `wanted` is the row of one of
  // them, and the others differ from it only in the tile. A row may come from any file, so the
  // planner ignores rows that the template does not declare, and computes nothing from them.
  std::vector<KernelSpec> existing_kernels(const KernelRow& wanted) const {
    std::vector<KernelSpec> kernels;
    const KernelIndex& rows = request_.kernels.of(template_.name());
    for (const std::uint32_t number : rows.numbers()) {
      const KernelRow& row = rows.row(number);
      KernelSelector shape = row.selector;
      shape.tile_size_q = wanted.selector.tile_size_q;
      shape.tile_size_kv = wanted.selector.tile_size_kv;
      if (shape != wanted.selector || !request_.options.targets.allows(row.target)) continue;
      const auto kernel = family_.kernel_like(request_.problem, row);
      if (!kernel || !is_row_of(*kernel, row)) continue;
      if (std::find(kernels.begin(), kernels.end(), *kernel) == kernels.end()) kernels.push_back(*kernel);
    }
    return kernels;
  }

  bool is_row_of(const KernelSpec& kernel, const KernelRow& row) const {
    const auto declared = declared_.find(kernel);
    return declared && (*declared)->row.selector == row.selector && (*declared)->row.traits == row.traits;
  }

  // Leaves only the kernel that the request names. Returns the reason why the family cannot use it,
  // or an empty string.
  std::string restrict_to(const KernelSpec& named, FamilyKernels& kernels) const {
    std::optional<KernelSpec> kernel;
    if (named.name == template_.name()) {
      // The name of the kernel may come from a file, so the planner computes only with sizes that
      // the template has.
      if (const auto checked = declared_.find(named); !checked)
        return named.to_string() + " is no kernel: " + checked.error().message;
      kernel = family_.kernel_like(request_.problem, named);
      // Other parameters of the named kernel may allow sizes that this problem does not.
      if (kernel && !declared_.find(*kernel)) return named.to_string() + " is not for this problem";
    }
    const auto& allowed = kernels.of_family;
    if (!kernel || (allowed && std::find(allowed->begin(), allowed->end(), *kernel) == allowed->end()))
      return named.to_string() + " is no kernel of " + template_.name() + " that may be planned with";
    kernels.of_family = std::vector{*std::move(kernel)};
    return "";
  }

  // Returns the best target that the caller allows and that can hold the kernel, or the reason why
  // there is none.
  std::variant<SmTarget, std::string> target_of(const KernelSpec& spec) const {
    const TargetPolicy& targets = request_.options.targets;
    const ComputeCapability device = request_.device.capability;
    std::string reason = "no target of the device " + device.to_string() + " is left";
    if (const std::string policy = targets.to_string(); !policy.empty())
      reason += " by a request that " + policy;
    for (const SmTarget target : targets.targets(device)) {
      const auto checked = template_.check_target(spec, target);
      if (checked) return target;
      reason = checked.error().message;
    }
    return reason;
  }

  // Returns a step with the launch shape that the kernel's template declares.
  Result<PlanStep> step_of(const FamilyStep& planned) const {
    CUBINET_TRY_ASSIGN(const auto declared, declared_.find(planned.kernel));
    const EntryPoint& entry = declared->entry_points.front();
    PlanStep step;
    step.kernel = planned.kernel;
    step.entry_point = entry.name;
    step.grid = planned.grid;
    step.threads = entry.threads;
    step.shared_bytes = entry.dynamic_shared_bytes;
    step.starts_early = planned.starts_early;
    step.counts_on = planned.counts_on;
    return step;
  }

  Result<FamilyAnswer> finish(const FamilyPlan& made, KernelChoice choice) const {
    const KernelSpec& kernel = made.steps.front().kernel;
    const auto declared = declared_.find(kernel);
    if (!declared) return declared.error().message;
    AttentionPlan plan;
    for (const FamilyStep& planned : made.steps) {
      CUBINET_TRY_ASSIGN(plan.steps.emplace_back(), step_of(planned));
      plan.steps.back().arguments = made.arguments;
    }
    plan.row = (*declared)->row;
    if (const KernelRow* existing =
            find_row(request_.kernels.of(template_.name()), plan.row, request_.options.targets)) {
      plan.row = *existing;
    } else {
      const auto target = target_of((*declared)->spec);
      if (const auto* reason = std::get_if<std::string>(&target)) return *reason;
      plan.row.target = std::get<SmTarget>(target);
      plan.row.function_name = plan.steps.front().entry_point;
    }
    plan.rules = made.rules;
    plan.workspace = made.workspace;
    plan.division = made.division;
    plan.cost = made.cost;
    plan.compared_time = compared_time(made);
    plan.choice = choice;
    if (request_.options.explains) plan.trace = {kernel.to_string(), std::string(to_string(choice))};
    return FamilyAnswer(std::move(plan));
  }

  const TemplateFamily& family_;
  const DeclaredKernels& declared_;
  const KernelTemplate& template_;
  const PlanRequest& request_;
};

}  // namespace

Result<FamilyAnswer> plan_with_family(const TemplateFamily& family, const DeclaredKernels& declared,
                                      const PlanRequest& request) {
  CUBINET_TRY_ASSIGN(const auto kernel_template, declared.catalog().find(family.name()));
  return FamilyPlanner(family, declared, *kernel_template, request).plan();
}

}  // namespace cubinet
