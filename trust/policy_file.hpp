// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/trust/key_set.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

inline constexpr std::size_t kMaximumPolicyBytes = 1'048'576;

// A policy file: docs/formats/policy.md.
struct PolicyFile {
  struct Place {
    std::string place;
    TrustPolicy policy;
  };
  std::vector<Place> places;
  std::optional<TrustPolicy> fallback;

  // Returns the policy of the store at exactly this location, or else of the longest prefix, ending
  // in a slash, that contains it. Returns nullptr if there is none. REQUIRES: a server's location
  // is in its canonical form.
  const TrustPolicy* find(std::string_view place) const;
};

// Parses a policy file. `name` is the file's name for messages. Errors: invalid_argument for a
// malformed text, untrusted if it names the home's key set and there is none. Pure.
Result<PolicyFile> parse_policy(std::string_view text, const std::string& name,
                                const std::optional<KeySet>& home_keys, const std::string& versions_seen);

}  // namespace cubinet
