// SPDX-License-Identifier: Apache-2.0
#include <cubinet/cubin_registry/judge.hpp>

#include <algorithm>
#include <tuple>

namespace cubinet {
namespace {

const BuildFingerprint* today_of(const BuildRequest& build_request, ImageTarget target) {
  const auto built = std::find_if(build_request.today.begin(), build_request.today.end(),
                                  [&](const auto& pair) { return pair.first == target; });
  return built == build_request.today.end() ? nullptr : &built->second;
}

// Returns the index of a target in the request, or the number of targets if it is not allowed.
std::size_t place_of(ImageTarget target, const BuildRequest& build_request) {
  const auto position = std::find(build_request.targets.begin(), build_request.targets.end(), target);
  return static_cast<std::size_t>(position - build_request.targets.begin());
}

// Returns the rank; the smaller one precedes. It includes all members, so only equal builds are
// interchangeable.
auto rank_of(const Judgement& judgement, const BuildCandidate& candidate, const BuildRequest& build_request) {
  return std::tuple<bool, bool, bool, std::size_t, BuildStatus, std::uint64_t, std::size_t,
                    const BuildFingerprint&, const Sha256Digest&, ImageTarget, CubinOrigin, std::uint32_t,
                    const Sha256Digest&>(!judgement.usable(), judgement.held_back, !judgement.own_text,
                                         place_of(candidate.target, build_request), judgement.status,
                                         ~candidate.version, candidate.store, candidate.fingerprint,
                                         candidate.digest, candidate.target, candidate.origin,
                                         candidate.interface_version, candidate.template_text);
}

// A pin restores the choice before newer bundles were added: of all bundles' builds, only those of
// the pinned bundle are considered, if it has a usable one.
void hold_back(std::vector<Judgement>& judged, std::span<const BuildCandidate> candidates) {
  const bool pinned = std::any_of(judged.begin(), judged.end(), [&](const Judgement& each) {
    return each.usable() && candidates[each.candidate].preferred;
  });
  if (!pinned) return;
  for (Judgement& each : judged) {
    const BuildCandidate& candidate = candidates[each.candidate];
    each.held_back = candidate.origin == CubinOrigin::bundle && !candidate.preferred;
  }
}

// Returns the remark on a build from another text than the template has here.
std::string remark_on_text(const BuildCandidate& candidate, const BuildRequest& build_request) {
  if (!build_request.template_text || *build_request.template_text == candidate.template_text) return "";
  return "; from another text of the template, so builds from the text here precede it";
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

BuildCandidate BuildCandidate::of(const CubinRecord& record, std::size_t store) {
  BuildCandidate candidate;
  candidate.target = {record.target, record.kind};
  candidate.origin = record.origin;
  candidate.interface_version = record.interface_version;
  candidate.template_text = record.template_text;
  candidate.version = record.version;
  candidate.fingerprint = record.fingerprint;
  candidate.digest = record.digest;
  candidate.store = store;
  return candidate;
}

BuildStatus build_status_of(const BuildCandidate& candidate, const BuildRequest& build_request) {
  const bool fits =
      !build_request.interface_version || *build_request.interface_version == candidate.interface_version;
  if (!fits) return BuildStatus::foreign;
  if (candidate.origin != CubinOrigin::compiled) return BuildStatus::shipped;
  if (const BuildFingerprint* today = today_of(build_request, candidate.target)) {
    return *today == candidate.fingerprint ? BuildStatus::current : BuildStatus::stale;
  }
  // Without a template the status is unknown, independent of the compiler.
  return !build_request.compiler.empty() && build_request.interface_version ? BuildStatus::stale
                                                                            : BuildStatus::unchecked;
}

bool is_usable(BuildStatus status) {
  return status <= BuildStatus::unchecked;
}

std::string explain(const BuildCandidate& candidate, const BuildRequest& build_request,
                    std::string_view compiler) {
  const std::string text = remark_on_text(candidate, build_request);
  switch (build_status_of(candidate, build_request)) {
    case BuildStatus::current:
      return "a local build that would be the same today";
    case BuildStatus::shipped:
      if (candidate.origin == CubinOrigin::imported) return "published in an imported folder";
      if (!build_request.interface_version) return "from a bundle; no template of its name is known here";
      return text.empty() ? "from a bundle, built from the text that the template has here"
                          : "from a bundle, of the interface version that the template has" + text;
    case BuildStatus::unchecked:
      return build_request.interface_version
                 ? "a local build; there is no compiler here to tell whether it is current" + text
                 : "a local build; no template is known here to tell whether it is current";
    case BuildStatus::stale:
      if (compiler != build_request.compiler) {
        return "stale: built by " + std::string(compiler) + "; the compiler here is " +
               std::string(build_request.compiler);
      }
      return "stale: built by the compiler that is here, from another text of the template, headers or "
             "options";
    case BuildStatus::foreign:
      break;
  }
  return "of interface version " + std::to_string(candidate.interface_version) + ", the template has " +
         std::to_string(build_request.interface_version.value_or(0));
}

std::vector<Judgement> judge(const BuildRequest& build_request, std::span<const BuildCandidate> candidates) {
  std::vector<Judgement> judged(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    judged[i] = {i, build_status_of(candidates[i], build_request),
                 place_of(candidates[i].target, build_request) < build_request.targets.size()};
    // Equal fingerprints include equal texts.
    judged[i].own_text = judged[i].status == BuildStatus::current ||
                         build_request.template_text == candidates[i].template_text;
  }
  hold_back(judged, candidates);
  // Equal candidates keep their order.
  std::stable_sort(judged.begin(), judged.end(), [&](const Judgement& a, const Judgement& b) {
    return rank_of(a, candidates[a.candidate], build_request) <
           rank_of(b, candidates[b.candidate], build_request);
  });
  return judged;
}

}  // namespace cubinet
