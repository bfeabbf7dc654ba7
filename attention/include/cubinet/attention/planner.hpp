// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/backend.hpp>

#include <string_view>

namespace cubinet {

// A planner of attention problems for one device. It uses the rows and measurements of a Runtime's
// stores and the library's backends. If nothing can be compiled, it uses existing builds only. It
// is a snapshot of the stores: a kernel that is compiled later counts as not yet compiled, which
// changes no result. Const use is thread-safe.
class AttentionPlanner {
 public:
  // Reads the rows. Measurements are used if they were taken under `device_name`
  // (DeviceProperties::name). Returns the errors of Runtime::rows().
  static Result<AttentionPlanner> create(Runtime& runtime, const DeviceFacts& device,
                                         std::string_view device_name = {});
  // Does the same for a device whose properties a driver reported.
  static Result<AttentionPlanner> create(Runtime& runtime, const DeviceProperties& device);
  // Plans with the caller's rows. If `may_compile` is true, other kernels can be compiled.
  static Result<AttentionPlanner> over(const DeviceRows& rows, const DeviceFacts& device,
                                       std::string_view device_name = {}, bool may_compile = true);

  // Returns the plan of a backend, or the reason of each backend that declines. If nothing can be
  // compiled, a plan that needs compilation is replaced by one that uses existing builds, if there
  // is one.
  Result<AttentionResolution> resolve(const AttentionProblem& problem, PlanOptions options = {}) const;
  // Returns the plan. Returns an error (unsupported) if no backend serves the problem.
  Result<AttentionPlan> plan(const AttentionProblem& problem, PlanOptions options = {}) const;
  // Returns the request on which the backends and the tuner decide.
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
