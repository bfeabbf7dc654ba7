// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/standing.hpp>
#include <cubinet/cubin_registry/store.hpp>
#include <cubinet/found_cubin.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/image_target.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A build that lies somewhere, as the judge sees it.
struct ExplainedBuild {
  std::shared_ptr<const CubinRecord> record;
  KernelSource source = KernelSource::registry;
  std::string place;  // the home, bundle, imported folder or server; empty for this process's memory
  Standing standing = Standing::stale;
  bool wanted_target = false;  // it runs on the device, and the policy allows it
  bool usable = false;
  std::string verdict;  // "a local build that would be the same today", "stale: …", "sm_90a is forbidden"
  // Of another kernel than was asked for, by the same maker and of the same name: "tile_size_q 32 instead of
  // 16". Nothing else is then said but the record, whether its target is wanted, and the verdict if not.
  std::vector<std::string> differences = {};
};

// What a request for one kernel on one device would do now, and why; nothing is compiled, loaded or changed.
struct KernelExplanation {
  KernelSpec spec;  // complete
  ComputeCapability device;
  TargetPolicy policy;
  std::vector<ImageTarget> targets;    // that are looked for, best first
  std::vector<ExplainedBuild> builds;  // every one that some store holds, best first; the usable in front
  // Where none is usable: the target that would be compiled for, or why nothing can be.
  std::optional<SmTarget> would_compile;
  std::optional<Error> cannot_compile;
  std::vector<ExplainedBuild> nearest;  // where none is usable: the fewest differences, three at most

  // The build that would be used; nullptr where none is usable.
  const ExplainedBuild* choice() const {
    return !builds.empty() && builds.front().usable ? &builds.front() : nullptr;
  }
};

// The attention kernels that a device can use: of every kernel that some store holds the row of the build
// that a request would get, so that what is selected among them is what is then loaded. Kernels of two pins
// are two.
struct DeviceRows {
  StoredRows rows;  // one a kernel, in an order that depends on the kernels alone
  // Kernels without such a build, by what keeps the best of theirs from being taken.
  std::size_t stale = 0;    // a local build that would be another today
  std::size_t foreign = 0;  // of another interface version of its template
  // For other devices, refused by the policy, or PTX alone: a row of each, for those who say what is near.
  StoredRows elsewhere;
  TuningTable tuning;  // what the stores hold of measurements, of every device
};

}  // namespace cubinet
