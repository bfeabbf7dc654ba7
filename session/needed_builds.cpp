// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/missing_code.hpp>
#include <cubinet/session/needed_builds.hpp>

#include <map>
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

namespace {

// Collects builds, each once.
class BuildCollection {
 public:
  BuildCollection(Runtime& runtime, NeededBuilds& needed) : runtime_(runtime), needed_(needed) {}

  // Adds the build of a kernel that the device would use, or the reason why there is none. Returns
  // false for the latter.
  Result<bool> add(const KernelSpec& spec, ComputeCapability device, const std::string& text);
  void unserved(const std::string& text, const Error& error) {
    needed_.unserved.push_back({text, error.message});
  }

 private:
  void add(const KernelSpec& spec, ImageTarget target) {
    if (known_.emplace(identify(spec, target.target).encoding(), target.kind).second)
      needed_.builds.push_back({spec, target});
  }

  Runtime& runtime_;
  NeededBuilds& needed_;
  std::set<std::pair<Bytes, ImageKind>> known_;
};

Result<bool> BuildCollection::add(const KernelSpec& spec, ComputeCapability device, const std::string& text) {
  CUBINET_TRY_ASSIGN(const auto kernel, runtime_.resolve(spec));
  CUBINET_TRY_ASSIGN(const KernelExplanation found, runtime_.explain(*kernel, device));
  if (const ExplainedBuild* build = found.choice()) {
    add(kernel->spec(), {build->record->target, build->record->kind});
  } else if (found.would_compile) {
    add(kernel->spec(), {*found.would_compile, ImageKind::cubin});
  } else {
    unserved(text, *found.cannot_compile);
    return false;
  }
  return true;
}

// Returns the planner of a device that was recorded, and keeps it for the next entry.
class RecordedPlanners {
 public:
  explicit RecordedPlanners(Runtime& runtime) : runtime_(runtime) {}

  Result<const AttentionPlanner*> find(const WorkloadDevice& device) {
    auto known = planners_.find(device);
    if (known == planners_.end()) {
      CUBINET_TRY(check_device(device.facts()));
      CUBINET_TRY_ASSIGN(AttentionPlanner made,
                         AttentionPlanner::create(runtime_, device.facts(), device.name));
      known = planners_.emplace(device, std::move(made)).first;
    }
    return &known->second;
  }

 private:
  Runtime& runtime_;
  std::map<WorkloadDevice, AttentionPlanner> planners_;
};

// Adds the builds of one entry for one of its devices.
Result<void> add_recorded(const KernelSpec& spec, const WorkloadDevice& device, const std::string& text,
                          RecordedPlanners&, const SessionOptions&, BuildCollection& builds) {
  const auto added = builds.add(spec, device.capability, text);
  if (!added) return missing_code(spec, added.error());
  return {};
}

Result<void> add_recorded(const WorkloadAttention& attention, const WorkloadDevice& device,
                          const std::string& text, RecordedPlanners& planners, const SessionOptions& session,
                          BuildCollection& builds) {
  PlanOptions options = attention.options;
  if (options.targets == TargetPolicy{}) options.targets = session.targets;
  CUBINET_TRY_ASSIGN(const AttentionPlanner* planner, planners.find(device));
  CUBINET_TRY_ASSIGN(const AttentionPlan plan, planner->plan(attention.problem, std::move(options)));
  for (const PlanStep& step : plan.steps) {
    const auto* spec = std::get_if<KernelSpec>(&step.kernel);
    if (spec == nullptr) continue;
    CUBINET_TRY_ASSIGN(const bool added, builds.add(*spec, device.capability, text));
    if (!added) break;
  }
  return {};
}

}  // namespace

Result<NeededBuilds> builds_needed(Runtime& runtime, const DeviceRequest& request) {
  NeededBuilds needed;
  if (request.problems.empty()) return needed;
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner, AttentionPlanner::create(runtime, request.device));
  BuildCollection builds(runtime, needed);
  for (const auto& [text, problem] : request.problems) {
    const auto specs = kernels_of(problem, planner, true);
    if (!specs) {
      if (specs.error().code != ErrorCode::unsupported) return specs.error();
      builds.unserved(text, specs.error());
      continue;
    }
    for (const KernelSpec& spec : *specs) {
      CUBINET_TRY_ASSIGN(const bool added, builds.add(spec, request.device.capability, text));
      if (!added) break;
    }
  }
  return needed;
}

Result<NeededBuilds> builds_needed(const SessionOptions& session, Runtime& runtime,
                                   const Workload& workload) {
  NeededBuilds needed;
  BuildCollection builds(runtime, needed);
  RecordedPlanners planners(runtime);
  for (const WorkloadEntry& entry : workload.entries()) {
    for (const WorkloadDevice& device : entry.devices) {
      const std::string text = entry.to_string() + " on " + device.capability.to_string();
      const auto added = std::visit(
          [&](const auto& work) { return add_recorded(work, device, text, planners, session, builds); },
          entry.work);
      if (!added) builds.unserved(text, added.error());
    }
  }
  for (const Error& error : workload.rejected())
    builds.unserved("a line of the workload", error);
  return needed;
}

}  // namespace cubinet
