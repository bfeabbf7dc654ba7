// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/sm_target.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The targets that a caller accepts. It is part of a request and of its explanation, never of a
// kernel's key. The default allows every target. It also applies to PTX, by the PTX's target. A
// plain value.
struct TargetPolicy {
  // If true, family targets precede specific ones, to test portability.
  bool prefers_family = false;
  std::vector<SmTarget> forbidden;  // never used
  std::optional<SmTarget> pinned;   // the only target that is used, if set

  bool allows(SmTarget target) const;
  // Returns why a target is refused ("sm_90a is forbidden"), or nullopt if it is allowed.
  std::optional<std::string> refusal(SmTarget target) const;
  // Return targets_for(device) and ptx_targets_for(device) without the refused targets, best first
  // under this policy.
  std::vector<SmTarget> targets(ComputeCapability device) const;
  std::vector<SmTarget> ptx_targets(ComputeCapability device) const;
  // Returns "prefers family targets, forbids sm_90a", or an empty text for the default.
  std::string to_string() const;

  friend bool operator==(const TargetPolicy&, const TargetPolicy&) = default;
};

// Returns invalid_argument if a target is both pinned and forbidden, because no target would be
// allowed.
Result<void> check(const TargetPolicy& policy);

}  // namespace cubinet
