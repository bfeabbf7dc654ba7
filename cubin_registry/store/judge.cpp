// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/judge.hpp>

#include <algorithm>
#include <tuple>

namespace cubinet {
namespace {

const BuildFingerprint* today_of(const Wish& wish, ImageTarget target) {
  const auto built = std::find_if(wish.today.begin(), wish.today.end(),
                                  [&](const auto& pair) { return pair.first == target; });
  return built == wish.today.end() ? nullptr : &built->second;
}

// Returns the index of a target in the request, or the number of targets if it is not allowed.
std::size_t place_of(ImageTarget target, const Wish& wish) {
  const auto position = std::find(wish.targets.begin(), wish.targets.end(), target);
  return static_cast<std::size_t>(position - wish.targets.begin());
}

// Returns the rank; the smaller one precedes. It includes all members, so only equal builds are
// interchangeable.
auto rank_of(const Judgement& judgement, const Offer& offer, const Wish& wish) {
  return std::tuple<bool, bool, std::size_t, Standing, std::uint64_t, std::size_t, const BuildFingerprint&,
                    const Sha256Digest&, ImageTarget, CubinOrigin, std::uint32_t>(
      !judgement.usable(), judgement.held_back, place_of(offer.target, wish), judgement.standing,
      ~offer.version, offer.store, offer.fingerprint, offer.digest, offer.target, offer.origin,
      offer.interface_version);
}

// A pin restores the choice before newer bundles were added: of all bundles' builds, only those of
// the pinned bundle are considered, if it has a usable one.
void hold_back(std::vector<Judgement>& judged, std::span<const Offer> offers) {
  const bool pinned = std::any_of(judged.begin(), judged.end(), [&](const Judgement& each) {
    return each.usable() && offers[each.offer].preferred;
  });
  if (!pinned) return;
  for (Judgement& each : judged) {
    const Offer& offer = offers[each.offer];
    each.held_back = offer.origin == CubinOrigin::bundle && !offer.preferred;
  }
}

}  // namespace

std::vector<ImageTarget> targets_wanted(ComputeCapability device, const TargetPolicy& policy) {
  std::vector<ImageTarget> wanted;
  for (const SmTarget target : policy.targets(device))
    wanted.push_back({target, ImageKind::cubin});
  for (const SmTarget target : policy.ptx_targets(device))
    wanted.push_back({target, ImageKind::ptx});
  return wanted;
}

Offer Offer::of(const CubinRecord& record, std::size_t store) {
  Offer offer;
  offer.target = {record.target, record.kind};
  offer.origin = record.origin;
  offer.interface_version = record.interface_version;
  offer.version = record.version;
  offer.fingerprint = record.fingerprint;
  offer.digest = record.digest;
  offer.store = store;
  return offer;
}

Standing standing_of(const Offer& offer, const Wish& wish) {
  const bool fits = !wish.interface_version || *wish.interface_version == offer.interface_version;
  if (!fits) return Standing::foreign;
  if (offer.origin != CubinOrigin::compiled) return Standing::shipped;
  if (const BuildFingerprint* today = today_of(wish, offer.target)) {
    return *today == offer.fingerprint ? Standing::current : Standing::stale;
  }
  // Without a template the status is unknown, independent of the compiler.
  return !wish.compiler.empty() && wish.interface_version ? Standing::stale : Standing::unchecked;
}

bool is_usable(Standing standing) {
  return standing <= Standing::unchecked;
}

std::string explain(const Offer& offer, const Wish& wish, std::string_view compiler) {
  switch (standing_of(offer, wish)) {
    case Standing::current:
      return "a local build that would be the same today";
    case Standing::shipped:
      if (offer.origin == CubinOrigin::imported) return "published in an imported folder";
      return wish.interface_version ? "from a bundle, of the interface version that the template has"
                                    : "from a bundle; no template of its name is known here";
    case Standing::unchecked:
      return wish.interface_version
                 ? "a local build; there is no compiler here to tell whether it is current"
                 : "a local build; no template is known here to tell whether it is current";
    case Standing::stale:
      if (compiler != wish.compiler) {
        return "stale: built by " + std::string(compiler) + "; the compiler here is " +
               std::string(wish.compiler);
      }
      return "stale: built by the compiler that is here, from another text of the template, headers or "
             "options";
    case Standing::foreign:
      break;
  }
  return "of interface version " + std::to_string(offer.interface_version) + ", the template has " +
         std::to_string(wish.interface_version.value_or(0));
}

std::vector<Judgement> judge(const Wish& wish, std::span<const Offer> offers) {
  std::vector<Judgement> judged(offers.size());
  for (std::size_t i = 0; i < offers.size(); ++i) {
    judged[i] = {i, standing_of(offers[i], wish), place_of(offers[i].target, wish) < wish.targets.size()};
  }
  hold_back(judged, offers);
  std::sort(judged.begin(), judged.end(), [&](const Judgement& a, const Judgement& b) {
    return rank_of(a, offers[a.offer], wish) < rank_of(b, offers[b.offer], wish);
  });
  return judged;
}

}  // namespace cubinet
