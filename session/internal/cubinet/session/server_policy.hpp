// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/session/session_options.hpp>
#include <cubinet/trust/trust_policy.hpp>

#include <optional>
#include <string>

namespace cubinet {

// Returns the options' policy for a server; nullopt if there is none. Errors are those of
// ServerReference::parse and find_trust_policy.
Result<std::optional<TrustPolicy>> policy_of(const SessionOptions& options, const ServerReference& reference);
Result<std::optional<TrustPolicy>> policy_of_place(const SessionOptions& options,
                                                   const std::string& reference);

// Like policy_of, for a server that will be contacted. Returns untrusted if the policy allows only
// kept content (local_only).
Result<std::optional<TrustPolicy>> policy_to_contact(const SessionOptions& options,
                                                     const ServerReference& reference);

}  // namespace cubinet
