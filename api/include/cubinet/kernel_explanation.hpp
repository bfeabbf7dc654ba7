// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/build_status.hpp>
#include <cubinet/cubin_registry/row_table.hpp>
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

// An existing build and the verdict about it.
struct ExplainedBuild {
  std::shared_ptr<const CubinRecord> record;
  KernelSource source = KernelSource::registry;
  // The home, bundle, imported folder or server. Empty for this process's memory.
  std::string place;
  BuildStatus status = BuildStatus::stale;
  bool wanted_target = false;  // if true, it runs on the device and the policy allows it
  bool usable = false;         // if true, a request may use it: wanted_target, and is_usable(status)
  // If true, it was built from the template's text here (KernelTemplate::text_digest()). Such
  // builds precede others.
  bool own_text = false;
  // For example "a local build that would be the same today", "stale: …", "sm_90a is forbidden".
  std::string verdict;
  // The differences of another kernel of the same maker and name, for example "tile_size_q 32
  // instead of 16". Only the record, `wanted_target` and the verdict of an unwanted target are then
  // set.
  std::vector<std::string> differences = {};
  std::size_t store = 0;  // of an existing build: the index in Runtime::stores()
};

// Builds of a kernel that cannot be read: those of one damaged file, or of a store that failed.
struct UnreadableBuilds {
  std::size_t store = 0;  // the index in Runtime::stores()
  Error error;            // with the file or store, the reason and the remedy
};

// The result of a request for one kernel on one device if it were made now, and the reasons.
// Nothing is compiled, loaded or changed.
struct KernelExplanation {
  KernelSpec spec;  // complete
  ComputeCapability device;
  TargetPolicy policy;
  std::vector<ImageTarget> targets;  // the targets that are looked up, best first
  // All builds in the stores, best first. Usable ones precede the others.
  std::vector<ExplainedBuild> builds;
  // The builds of the kernel that the stores could not read. One of them might have been used.
  std::vector<UnreadableBuilds> unreadable = {};
  // If no build is usable: the target that would be compiled for, or the reason why compilation is
  // impossible.
  std::optional<SmTarget> would_compile;
  std::optional<Error> cannot_compile;
  // If no build is usable: at most three kernels with the fewest differences.
  std::vector<ExplainedBuild> nearest;

  // Returns the build that would be used, or nullptr if none is usable.
  const ExplainedBuild* choice() const {
    return !builds.empty() && builds.front().usable ? &builds.front() : nullptr;
  }
};

// The attention kernels that a device can use. Each row is that of the build that a request for the
// kernel would get, so the selected row is the one that is loaded. Kernels of two pins are
// separate.
struct DeviceRows {
  StoredRows rows;  // one row per kernel, in an order that depends only on the kernels
  // The number of kernels without a usable build, by the status of their best build.
  std::size_t stale = 0;    // a local build that differs from the current one
  std::size_t foreign = 0;  // built for another interface version of the template
  // Kernels that have builds only for other devices, for targets that the policy refuses, or as
  // PTX: one row each, to report near misses.
  StoredRows elsewhere;
  TuningTable tuning;  // the stores' measurements of all devices
};

}  // namespace cubinet
