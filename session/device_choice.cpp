// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/planner.hpp>
#include <cubinet/cubin_registry/judge.hpp>
#include <cubinet/session/device_choice.hpp>
#include <cubinet/session/open_stores.hpp>

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

// Returns the kernels of the problem's plan, the selected one first.
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

DeviceChoice usable_on(ComputeCapability capability, CubinRecords records) {
  const auto targets = targets_wanted(capability, {});
  std::erase_if(records, [&](const auto& record) {
    return std::find(targets.begin(), targets.end(), ImageTarget{record->target, record->kind}) ==
           targets.end();
  });
  return {std::move(records)};
}

}  // namespace

Result<DeviceChoice> choose_for_device(const SessionOptions& session, const DeviceRequest& request,
                                       const std::shared_ptr<Store>& store, CubinRecords records) {
  if (request.problems.empty()) return usable_on(request.device.capability, std::move(records));
  DeviceChoice choice{std::move(records)};
  CUBINET_TRY_ASSIGN(TemplateCatalog templates, TemplateCatalog::builtin());
  CUBINET_TRY_ASSIGN(const auto runtime, make_runtime(session, {store}, std::move(templates)));
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner, AttentionPlanner::create(*runtime, request.device));
  CubinRecords wanted;
  for (const auto& [text, problem] : request.problems) {
    const auto specs = kernels_of(problem, planner, false);
    if (!specs) {
      if (specs.error().code != ErrorCode::unsupported) return specs.error();
      choice.unserved.push_back({text, specs.error().message});
      continue;
    }
    for (const KernelSpec& spec : *specs) {
      CUBINET_TRY_ASSIGN(const auto kernel, runtime->prepare(spec));
      CUBINET_TRY_ASSIGN(const KernelExplanation found, runtime->explain(*kernel, request.device.capability));
      if (const ExplainedBuild* build = found.choice()) wanted.push_back(build->record);
    }
  }
  std::erase_if(choice.records, [&](const auto& record) {
    return std::none_of(wanted.begin(), wanted.end(), [&](const auto& one) { return *one == *record; });
  });
  return choice;
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
      CUBINET_TRY_ASSIGN(const auto kernel, runtime.prepare(spec));
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
