// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/planner.hpp>
#include <cubinet/runtime.hpp>
#include <cubinet/session/device_choice.hpp>
#include <cubinet/session/workload.hpp>
#include <cubinet/spec/image_target.hpp>

#include <vector>

namespace cubinet {

// Returns the kernels of the problem's plan, the selected one first.
Result<std::vector<KernelSpec>> kernels_of(const AttentionProblem& problem, const AttentionPlanner& planner,
                                           bool may_compile);
// Does the same, over shared prefixes if the problem has them.
Result<std::vector<KernelSpec>> kernels_of(const DeviceRequest::Problem& problem,
                                           const AttentionPlanner& planner, bool may_compile);

struct NeededBuild {
  KernelSpec spec;  // complete
  ImageTarget target;
};
struct NeededBuilds {
  std::vector<NeededBuild> builds;
  std::vector<UnservedProblem> unserved;
};
// Returns the builds that the plans of the problems use on the device, each once, in the order of
// the problems. For each kernel this is an existing build or, if there is none, the build that
// would be compiled.
Result<NeededBuilds> builds_needed(Runtime& runtime, const DeviceRequest& request);
// Does the same for a workload: for each device of an entry, the builds of its kernel or of its
// problem's plan, in order of first use. Kernels that no template makes and no store has, and
// rejected lines, are returned as unserved.
Result<NeededBuilds> builds_needed(const SessionOptions& session, Runtime& runtime, const Workload& workload);

}  // namespace cubinet
