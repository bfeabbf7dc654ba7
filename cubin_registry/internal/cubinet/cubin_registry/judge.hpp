// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/standing.hpp>
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

// What is wanted of one kernel, and what is known here and now. A plain value.
struct Wish {
  // Targets that may be taken, best first: targets_wanted() of a device, or the one that was asked for.
  std::vector<ImageTarget> targets;
  // Of the template's arguments and semantics; nullopt where no template of that name is known: then what was
  // shipped is taken at its word.
  std::optional<std::uint32_t> interface_version;
  // What would be built now, for the targets for which there are local builds. Without an entry a local build
  // is never current.
  std::vector<std::pair<ImageTarget, BuildFingerprint>> today;
  std::string_view compiler;  // its identity, which outlives the wish; empty where there is none
};

// The targets of a device under a policy, best first: those of machine code, then those of PTX.
std::vector<ImageTarget> targets_wanted(ComputeCapability device, const TargetPolicy& policy);

// A build that lies somewhere, as much of it as decides.
struct Offer {
  ImageTarget target;
  CubinOrigin origin = CubinOrigin::compiled;
  std::uint32_t interface_version = 0;
  std::uint64_t version = 0;  // of the bundle or import; 0 for a local build
  bool preferred = false;     // a channel is pinned to its bundle
  BuildFingerprint fingerprint;
  Sha256Digest digest;
  std::size_t store = 0;  // the place of its store in the list of stores

  static Offer of(const CubinRecord& record, std::size_t store);
};

Standing standing_of(const Offer& offer, const Wish& wish);
// The standing as a sentence; `compiler` is the one that the offer's record names.
std::string explain(const Offer& offer, const Wish& wish, std::string_view compiler);

// One offer, judged.
struct Judgement {
  std::size_t offer = 0;  // its place in what was handed in
  Standing standing = Standing::stale;
  bool wanted_target = false;  // its target is among the wish's
  // A build of a bundle, while a channel is pinned to another bundle that has a usable build of the kernel.
  bool held_back = false;
  bool usable() const { return wanted_target && is_usable(standing); }
};

// The one rule by which a build wins. Usable builds come first, the best in front: those that are not held
// back by a pin, then by target, then standing, then the higher version, then the order of stores, then the
// smaller fingerprint and digest. Builds that are not usable follow. Pure: the answer depends on the set of
// offers, never on their order.
std::vector<Judgement> judge(const Wish& wish, std::span<const Offer> offers);

}  // namespace cubinet
