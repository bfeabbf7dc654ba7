// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/planner.hpp>
#include <cubinet/session/missing_code.hpp>
#include <cubinet/session/workload_coverage.hpp>

#include <algorithm>
#include <map>

namespace cubinet {
namespace {

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

// Adds a kernel. Returns the reason if it is missing.
Result<void> cover_kernel(Runtime& runtime, const KernelSpec& spec, EntryCoverage& covered) {
  CUBINET_TRY_ASSIGN(KernelCoverage kernel, coverage_of(runtime, spec, covered.device.capability));
  if (kernel.missing) return *std::move(kernel.missing);
  covered.kernels.push_back(std::move(kernel));
  return {};
}

Result<void> cover(Runtime& runtime, const KernelSpec& spec, const TargetPolicy&, RecordedPlanners&,
                   EntryCoverage& covered) {
  auto found = cover_kernel(runtime, spec, covered);
  if (!found) return missing_code(spec, std::move(found).error());
  return {};
}

Result<void> cover(Runtime& runtime, const WorkloadAttention& attention, const TargetPolicy& targets,
                   RecordedPlanners& planners, EntryCoverage& covered) {
  PlanOptions options = attention.options;
  if (options.targets == TargetPolicy{}) options.targets = targets;
  CUBINET_TRY_ASSIGN(const AttentionPlanner* planner, planners.find(covered.device));
  CUBINET_TRY_ASSIGN(const AttentionPlan plan, planner->plan(attention.problem, std::move(options)));
  for (const PlanStep& step : plan.steps) {
    if (const auto* spec = std::get_if<KernelSpec>(&step.kernel))
      CUBINET_TRY(cover_kernel(runtime, *spec, covered));
  }
  return {};
}

}  // namespace

Result<KernelCoverage> coverage_of(Runtime& runtime, const KernelSpec& spec, ComputeCapability device) {
  CUBINET_TRY_ASSIGN(const auto kernel, runtime.resolve(spec));
  CUBINET_TRY_ASSIGN(const KernelExplanation found, runtime.explain(*kernel, device));
  KernelCoverage covered{kernel->spec()};
  if (const ExplainedBuild* build = found.choice()) {
    covered.target = {build->record->target, build->record->kind};
    covered.record = build->record;
    covered.place = build->place;
  } else if (found.would_compile) {
    covered.target = {*found.would_compile, ImageKind::cubin};
  } else {
    covered.missing = found.cannot_compile;
  }
  return covered;
}

bool EntryCoverage::served() const {
  return !missing && std::all_of(kernels.begin(), kernels.end(),
                                 [](const auto& kernel) { return kernel.record != nullptr; });
}

std::vector<EntryCoverage> coverage_of(Runtime& runtime, const TargetPolicy& targets,
                                       const Workload& workload) {
  std::vector<EntryCoverage> result;
  RecordedPlanners planners(runtime);
  const std::vector<WorkloadEntry> entries = workload.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const WorkloadDevice& device : entries[i].devices) {
      EntryCoverage covered{i, device};
      auto found =
          std::visit([&](const auto& work) { return cover(runtime, work, targets, planners, covered); },
                     entries[i].work);
      if (!found) covered.missing = std::move(found).error();
      result.push_back(std::move(covered));
    }
  }
  return result;
}

}  // namespace cubinet
