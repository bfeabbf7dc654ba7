// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <string_view>

namespace cubinet {

// Plans attention problems for one device: with the rows and measurements that a Runtime's stores hold, the
// library's backends and, if nothing can be compiled, only with builds that exist. A snapshot of the stores:
// a kernel that is compiled later counts as yet to be compiled, which changes no result. Const use is
// thread-safe.
class AttentionPlanner {
 public:
  // Reads the rows. Measurements are used if `device_name` is the name that they were taken under
  // (DeviceProperties::name). Returns the errors of Runtime::rows().
  static Result<AttentionPlanner> create(Runtime& runtime, const DeviceFacts& device,
                                         std::string_view device_name = {});
  // The same for a device that a driver has described.
  static Result<AttentionPlanner> create(Runtime& runtime, const DeviceProperties& device);
  // Plans with rows that the caller has; `may_compile`: whether other kernels can be compiled.
  static Result<AttentionPlanner> over(const DeviceRows& rows, const DeviceFacts& device,
                                       std::string_view device_name = {}, bool may_compile = true);

  // Returns the backend's plan, or the reason of each backend that declines. If nothing can be compiled, a
  // plan that would need it is replaced by one that uses existing builds, if there is one.
  Result<AttentionResolution> resolve(const AttentionProblem& problem, PlanOptions options = {}) const;
  // Returns the plan. unsupported if no backend serves the problem.
  Result<AttentionPlan> plan(const AttentionProblem& problem, PlanOptions options = {}) const;
  // Returns the request that backends and the tuner decide from.
  PlanRequest request(const AttentionProblem& problem, PlanOptions options = {}) const;

  const DeviceFacts& device() const { return device_; }
  const AvailableKernels& kernels() const { return kernels_; }
  const AttentionBackends& backends() const { return backends_; }

 private:
  AttentionPlanner(DeviceFacts device, AvailableKernels kernels, AttentionBackends backends, bool may_compile)
      : device_(device),
        kernels_(std::move(kernels)),
        backends_(std::move(backends)),
        may_compile_(may_compile) {}

  DeviceFacts device_;
  AvailableKernels kernels_;
  AttentionBackends backends_;
  bool may_compile_;
};

}  // namespace cubinet
