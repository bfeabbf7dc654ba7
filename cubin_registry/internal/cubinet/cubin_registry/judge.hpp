// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/build_status.hpp>
#include <cubinet/spec/cubin.hpp>
#include <cubinet/spec/image_target.hpp>
#include <cubinet/spec/target_policy.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cubinet {

// The requirements on one kernel and the known facts for the decision. A plain value.
struct BuildRequest {
  // The allowed targets, best first: targets_wanted() of a device, or the requested one.
  std::vector<ImageTarget> targets;
  // The version of the template's arguments and semantics. nullopt if there is no template of that
  // name: shipped builds are then accepted without this check.
  std::optional<std::uint32_t> interface_version;
  // The digest of the template's text here. nullopt if there is no template of that name.
  std::optional<Sha256Digest> template_text;
  // The current build for the targets that have local builds. A local build of any other target is
  // never current.
  std::vector<std::pair<ImageTarget, BuildFingerprint>> today;
  std::string_view compiler;  // Its identity. Must outlive the build_request. Empty if there is no compiler.
};

// Returns the targets of a device under a policy, best first: machine code, then PTX.
std::vector<ImageTarget> targets_wanted(ComputeCapability device, const TargetPolicy& policy);

// The facts of a stored build that the decision depends on.
struct BuildCandidate {
  ImageTarget target;
  CubinOrigin origin = CubinOrigin::compiled;
  std::uint32_t interface_version = 0;
  Sha256Digest template_text;
  std::uint64_t version = 0;  // of the bundle or import; 0 for a local build
  bool preferred = false;     // true if a channel is pinned to its bundle
  BuildFingerprint fingerprint;
  Sha256Digest digest;
  std::size_t store = 0;  // index in the list of stores

  static BuildCandidate of(const CubinRecord& record, std::size_t store);
};

BuildStatus build_status_of(const BuildCandidate& candidate, const BuildRequest& build_request);
// Returns the status as a sentence. `compiler` is the one named in the build's record.
std::string explain(const BuildCandidate& candidate, const BuildRequest& build_request,
                    std::string_view compiler);

// The decision on one build.
struct Judgement {
  std::size_t candidate = 0;  // index in the input
  BuildStatus status = BuildStatus::stale;
  bool wanted_target = false;  // true if its target is among the allowed ones
  // If true, it is a bundle's build, and a channel is pinned to another bundle with a usable build
  // of the kernel.
  bool held_back = false;
  // True if it was built from the template's text here. Others may lack a fix of the kernel.
  bool own_text = false;
  bool usable() const { return wanted_target && is_usable(status); }
};

// Orders the builds; no other code chooses between them. Usable builds come first, ordered by: not
// held back by a pin, own text, target, status, higher version, order of stores, smaller
// fingerprint, smaller digest. Builds that are not usable follow. Pure: the result depends on the
// set of builds, not on their order.
std::vector<Judgement> judge(const BuildRequest& build_request, std::span<const BuildCandidate> candidates);

}  // namespace cubinet
