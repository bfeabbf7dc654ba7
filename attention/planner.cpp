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
  const bool needs_existing = !options.may_load || (!may_compile_ && !options.assumes_all_kernels);
  if (needs_existing && options.may_compile) {
    // All kernels of this plan exist, also the one that combines splits. If there is none, the
    // usual plan names the kernel that binding refuses.
    options.may_compile = false;
    CUBINET_TRY_ASSIGN(AttentionResolution existing,
                       resolve_attention(problem, device_, kernels_, backends_, options));
    if (existing.plan) return existing;
    options.may_compile = true;
  }
  return resolve_attention(problem, device_, kernels_, backends_, options);
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
