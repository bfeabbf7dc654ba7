// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// The policy that a bundle was opened under, and the trusted keys that have signed the bundle. A
// plain value.
struct TrustReport {
  std::optional<TrustPolicy> policy = {};  // nullopt: no policy, so nothing says who made the bundle
  std::vector<Signer> signers = {};
  bool builtin = false;  // if true, it is the library's own bundle, whose root the library knows

  static TrustReport of(const Bundle& bundle);
};

// Returns the report of a store that is a bundle; nullopt for other stores, and for a server whose
// bundle has not been opened.
std::optional<TrustReport> trust_of(const std::shared_ptr<Store>& store);

// Returns the report as a part of a line for people.
std::string to_text(const TrustReport& report);

}  // namespace cubinet
