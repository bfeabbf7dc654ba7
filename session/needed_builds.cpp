// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/needed_builds.hpp>
#include <cubinet/session/workload_coverage.hpp>

#include <set>

namespace cubinet {
namespace {

void add_kernels(const AttentionPlan& plan, std::vector<KernelSpec>& specs) {
  for (const PlanStep& step : plan.steps)
    if (const auto* spec = std::get_if<KernelSpec>(&step.kernel)) specs.push_back(*spec);
}

}  // namespace

Result<std::vector<KernelSpec>> kernels_of(const AttentionProblem& problem, const AttentionPlanner& planner,
                                           bool may_compile) {
  // Kernels that cannot be launched here serve programs that load them by name.
  auto planned = planner.plan(problem, {.may_compile = may_compile});
  if (!planned && planned.error().code == ErrorCode::unsupported)
    planned = planner.plan(problem, {.launches = false, .may_compile = may_compile});
  CUBINET_TRY_ASSIGN(const AttentionPlan plan, std::move(planned));
  std::vector<KernelSpec> specs;
  add_kernels(plan, specs);
  return specs;
}

Result<std::vector<KernelSpec>> kernels_of(const DeviceRequest::Problem& problem,
                                           const AttentionPlanner& planner, bool may_compile) {
  if (!problem.shared_prefix) return kernels_of(problem.problem, planner, may_compile);
  CUBINET_TRY_ASSIGN(const SharedPrefixPlan plan,
                     plan_shared_prefix(*problem.shared_prefix, planner, {.may_compile = may_compile}));
  std::vector<KernelSpec> specs;
  add_kernels(plan.own.plan, specs);
  add_kernels(plan.prefix.plan, specs);
  specs.push_back(AttentionMerge::specification(plan.merge));
  return specs;
}

namespace {

// Collects builds, each once.
class BuildCollection {
 public:
  explicit BuildCollection(NeededBuilds& needed) : needed_(needed) {}

  void add(const KernelCoverage& kernel) {
    if (known_.emplace(identify(kernel.spec, kernel.target.target).encoding(), kernel.target.kind).second)
      needed_.builds.push_back({kernel.spec, kernel.target});
  }
  void unserved(const std::string& text, const Error& error) {
    needed_.unserved.push_back({text, error.message});
  }

 private:
  NeededBuilds& needed_;
  std::set<std::pair<Bytes, ImageKind>> known_;
};

}  // namespace

Result<NeededBuilds> builds_needed(Runtime& runtime, const DeviceRequest& request) {
  NeededBuilds needed;
  if (request.problems.empty()) return needed;
  CUBINET_TRY_ASSIGN(const AttentionPlanner planner, AttentionPlanner::create(runtime, request.device));
  BuildCollection builds(needed);
  for (const DeviceRequest::Problem& problem : request.problems) {
    const std::string& text = problem.text;
    const auto specs = kernels_of(problem, planner, true);
    if (!specs) {
      if (specs.error().code != ErrorCode::unsupported) return specs.error();
      builds.unserved(text, specs.error());
      continue;
    }
    for (const KernelSpec& spec : *specs) {
      CUBINET_TRY_ASSIGN(const KernelCoverage kernel, coverage_of(runtime, spec, request.device.capability));
      if (kernel.missing) {
        builds.unserved(text, *kernel.missing);
        break;
      }
      builds.add(kernel);
    }
  }
  return needed;
}

Result<NeededBuilds> builds_needed(const SessionOptions& session, Runtime& runtime,
                                   const Workload& workload) {
  NeededBuilds needed;
  BuildCollection builds(needed);
  const std::vector<WorkloadEntry> entries = workload.entries();
  for (const EntryCoverage& covered : coverage_of(runtime, session.targets, workload)) {
    for (const KernelCoverage& kernel : covered.kernels)
      builds.add(kernel);
    if (!covered.missing) continue;
    builds.unserved(entries[covered.entry].to_string() + " on " + covered.device.capability.to_string(),
                    *covered.missing);
  }
  for (const Error& error : workload.rejected())
    builds.unserved("a line of the workload", error);
  return needed;
}

}  // namespace cubinet
