// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/sm_target.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// Which targets a caller wants. Part of a request and of its explanation, never of a kernel's key. The
// default refuses nothing. It rules over PTX as well, by the target that the PTX was made for. A plain value.
struct TargetPolicy {
  bool prefers_family = false;      // family targets before specific ones, to test portability
  std::vector<SmTarget> forbidden;  // never taken
  std::optional<SmTarget> pinned;   // nothing else is taken

  bool allows(SmTarget target) const;
  // Why a target is refused: "sm_90a is forbidden"; nullopt when it is allowed.
  std::optional<std::string> refusal(SmTarget target) const;
  // targets_for(device), and ptx_targets_for(device), less what is refused, best first under this policy.
  std::vector<SmTarget> targets(ComputeCapability device) const;
  std::vector<SmTarget> ptx_targets(ComputeCapability device) const;
  // "prefers family targets, forbids sm_90a"; empty for the default.
  std::string to_string() const;

  friend bool operator==(const TargetPolicy&, const TargetPolicy&) = default;
};

// invalid_argument for a target that is both pinned and forbidden: nothing could be taken.
Result<void> check(const TargetPolicy& policy);

}  // namespace cubinet
