// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/needed_builds.hpp>

#include <set>

namespace cubinet {

Result<std::vector<KernelSpec>> kernels_of(const AttentionProblem& problem, const AttentionPlanner& planner,
                                           bool may_compile) {
  // Kernels that cannot be launched here serve programs that load them by name.
  auto planned = planner.plan(problem, {.may_compile = may_compile});
  if (!planned && planned.error().code == ErrorCode::unsupported)
    planned = planner.plan(problem, {.launches = false, .may_compile = may_compile});
  CUBINET_TRY_ASSIGN(const AttentionPlan plan, std::move(planned));
  std::vector<KernelSpec> specs;
  for (const PlanStep& step : plan.steps)
    if (const auto* spec = std::get_if<KernelSpec>(&step.kernel)) specs.push_back(*spec);
  return specs;
}

Result<NeededBuilds> builds_needed(Runtime& runtime, const DeviceRequest& request) {
  NeededBuilds needed;
  if (request.problems.empty()) return needed;
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner, AttentionPlanner::create(runtime, request.device));
  std::set<Bytes> known;
  const auto add = [&](const KernelSpec& spec, ImageTarget target) {
    if (known.insert(identify(spec, target.target).encoding()).second)
      needed.builds.push_back({spec, target});
  };
  for (const auto& [text, problem] : request.problems) {
    const auto specs = kernels_of(problem, planner, true);
    if (!specs) {
      if (specs.error().code != ErrorCode::unsupported) return specs.error();
      needed.unserved.push_back({text, specs.error().message});
      continue;
    }
    for (const KernelSpec& spec : *specs) {
      CUBINET_TRY_ASSIGN(const auto kernel, runtime.resolve(spec));
      CUBINET_TRY_ASSIGN(const KernelExplanation found, runtime.explain(*kernel, request.device.capability));
      if (const ExplainedBuild* build = found.choice()) {
        add(kernel->spec(), {build->record->target, build->record->kind});
      } else if (found.would_compile) {
        add(kernel->spec(), {*found.would_compile, ImageKind::cubin});
      } else {
        needed.unserved.push_back({text, found.cannot_compile->message});
        break;
      }
    }
  }
  return needed;
}

}  // namespace cubinet
