// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_source.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/image_target.hpp>
#include <cubinet/spec/kernel_spec.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A build that lies somewhere, and whether a request would take it.
struct ExplainedCandidate {
  KernelSource source = KernelSource::registry;
  std::filesystem::path place;  // the home or the bundle; empty for this process's memory
  std::shared_ptr<const CubinRecord> record;
  bool usable = false;
  std::string verdict;  // "a local build by today's compiler and template", "stale: …"
};

// One target that runs on the device, as a request looks at it.
struct ExplainedTarget {
  ImageTarget target;
  std::optional<std::string> refused;  // by the caller's policy, which says why; then nothing is looked for
  std::vector<ExplainedCandidate> candidates;  // best first, the usable ones in front
};

// A build of the same template that is not the one asked for.
struct NearKernel {
  std::shared_ptr<const CubinRecord> record;
  std::vector<std::string> differences;  // "tile_size_q 32 instead of 16"
  std::string target_verdict;            // empty: its target runs on the device and the policy allows it
};

// What a request for one kernel on one device would do now, and why; nothing is compiled, loaded or changed.
struct KernelExplanation {
  KernelSpec spec;  // resolved
  ComputeCapability device;
  TargetPolicy policy;
  std::vector<ExplainedTarget> targets;  // in the order in which they are looked for, PTX behind cubins
  // The candidate that would be used: targets[target].candidates[candidate].
  struct Choice {
    std::size_t target = 0;
    std::size_t candidate = 0;
  };
  std::optional<Choice> chosen;
  // Without one: the target that would be compiled for, or why nothing can be.
  std::optional<SmTarget> would_compile;
  std::optional<Error> cannot_compile;
  std::vector<NearKernel> nearest;  // without one: builds with the fewest differences, three at most

  const ExplainedCandidate* choice() const {
    return chosen ? &targets[chosen->target].candidates[chosen->candidate] : nullptr;
  }
};

}  // namespace cubinet
