// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/planner.hpp>
#include <cubinet/kernel_explanation.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/runtime.hpp>

namespace cubinet {

Result<AttentionPlanner> AttentionPlanner::create(Runtime& runtime, const DeviceFacts& device,
                                                  std::string_view device_name) {
  CUBINET_TRY_ASSIGN(const DeviceRows rows, runtime.rows(device.capability));
  return over(rows, device, device_name, runtime.can_compile());
}

Result<AttentionPlanner> AttentionPlanner::create(Runtime& runtime, const DeviceProperties& device) {
  return create(runtime, DeviceFacts::of(device), device.name);
}

Result<AttentionPlanner> AttentionPlanner::over(const DeviceRows& rows, const DeviceFacts& device,
                                                std::string_view device_name, bool may_compile) {
  CUBINET_TRY_ASSIGN(AttentionBackends backends, AttentionBackends::builtin());
  return AttentionPlanner(device, AvailableKernels::create(rows, device.capability, device_name),
                          std::move(backends), may_compile);
}

Result<AttentionResolution> AttentionPlanner::resolve(const AttentionProblem& problem,
                                                      PlanOptions options) const {
  if (!options.may_load && options.may_compile) {
    // A loaded kernel exists. If none does, the usual plan names the kernel that binding refuses.
    options.may_compile = false;
    CUBINET_TRY_ASSIGN(AttentionResolution existing,
                       resolve_attention(problem, device_, kernels_, backends_, options));
    if (existing.plan) return existing;
    options.may_compile = true;
  }
  CUBINET_TRY_ASSIGN(AttentionResolution resolution,
                     resolve_attention(problem, device_, kernels_, backends_, options));
  const bool needs_compiler = resolution.plan && !resolution.plan->exists() && options.may_compile;
  if (!needs_compiler || may_compile_ || options.assumes_all_kernels) return resolution;
  options.may_compile = false;
  CUBINET_TRY_ASSIGN(AttentionResolution existing,
                     resolve_attention(problem, device_, kernels_, backends_, options));
  return existing.plan ? std::move(existing) : std::move(resolution);
}

Result<AttentionPlan> AttentionPlanner::plan(const AttentionProblem& problem, PlanOptions options) const {
  CUBINET_TRY_ASSIGN(AttentionResolution resolution, resolve(problem, std::move(options)));
  if (!resolution.plan) return resolution.error();
  return *std::move(resolution.plan);
}

PlanRequest AttentionPlanner::request(const AttentionProblem& problem, PlanOptions options) const {
  options.may_compile = options.may_compile && options.may_load && may_compile_;
  return {problem, device_, kernels_, std::move(options)};
}

}  // namespace cubinet
