// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/target_policy.hpp>

#include <algorithm>

namespace cubinet {
namespace {

std::vector<SmTarget> ordered(const TargetPolicy& policy, std::vector<SmTarget> targets) {
  std::erase_if(targets, [&policy](SmTarget target) { return !policy.allows(target); });
  if (policy.prefers_family) {
    std::stable_partition(targets.begin(), targets.end(),
                          [](SmTarget target) { return target.kind == TargetKind::family; });
  }
  return targets;
}

}  // namespace

bool TargetPolicy::allows(SmTarget target) const {
  if (pinned && target != *pinned) return false;
  return std::find(forbidden.begin(), forbidden.end(), target) == forbidden.end();
}

std::optional<std::string> TargetPolicy::refusal(SmTarget target) const {
  if (allows(target)) return std::nullopt;
  if (pinned && target != *pinned) return pinned->to_string() + " is pinned";
  return target.to_string() + " is forbidden";
}

std::vector<SmTarget> TargetPolicy::targets(ComputeCapability device) const {
  return ordered(*this, targets_for(device));
}

std::vector<SmTarget> TargetPolicy::ptx_targets(ComputeCapability device) const {
  return ordered(*this, ptx_targets_for(device));
}

std::string TargetPolicy::to_string() const {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (prefers_family) add("prefers family targets");
  for (const SmTarget target : forbidden)
    add("forbids " + target.to_string());
  if (pinned) add("pins " + pinned->to_string());
  return text;
}

Result<void> check(const TargetPolicy& policy) {
  if (policy.pinned && !policy.allows(*policy.pinned)) {
    return Error{ErrorCode::invalid_argument,
                 policy.pinned->to_string() + " is both pinned and forbidden, so that no target is left",
                 "forbid another target, or pin another one"};
  }
  return {};
}

}  // namespace cubinet
