// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/runtime.hpp>
#include <cubinet/session/workload.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The build that a Runtime would use for one kernel on a device.
struct KernelCoverage {
  KernelSpec spec;  // complete
  ImageTarget target = {};
  std::shared_ptr<const CubinRecord> record = nullptr;  // nullptr: the stores have no usable build
  std::string place = {};                               // the store that has the build
  std::optional<Error> missing = {};                    // why there is no build and none can be compiled

  bool would_compile() const { return record == nullptr && !missing; }
};
// Returns the errors of Runtime::resolve() and Runtime::explain().
Result<KernelCoverage> coverage_of(Runtime& runtime, const KernelSpec& spec, ComputeCapability device);

// The service of one entry of a workload on one of the devices that recorded it.
struct EntryCoverage {
  std::size_t entry = 0;  // index in Workload::entries()
  WorkloadDevice device;
  std::vector<KernelCoverage> kernels = {};  // of the plan, for a problem; those before `missing`
  std::optional<Error> missing = {};         // why the Runtime cannot serve it

  // If true, nothing has to be compiled.
  bool served() const;
  bool would_compile() const { return !missing && !served(); }
};
// Returns the coverage of every entry on every device, in order of first use. Attention is planned
// for the recorded device with the recorded options; `targets` replaces a target policy that was
// not set. Compiles and loads nothing.
std::vector<EntryCoverage> coverage_of(Runtime& runtime, const TargetPolicy& targets,
                                       const Workload& workload);

}  // namespace cubinet
