// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/server_policy.hpp>

namespace cubinet {

Result<std::optional<TrustPolicy>> policy_of(const SessionOptions& options,
                                             const ServerReference& reference) {
  return find_trust_policy(reference.to_string(), options.home, options.policy_file, nullptr);
}

Result<std::optional<TrustPolicy>> policy_of_place(const SessionOptions& options,
                                                   const std::string& reference) {
  CUBINET_TRY_ASSIGN(const ServerReference parsed, ServerReference::parse(reference));
  return policy_of(options, parsed);
}

Result<std::optional<TrustPolicy>> policy_to_contact(const SessionOptions& options,
                                                     const ServerReference& reference) {
  CUBINET_TRY_ASSIGN(auto policy, policy_of(options, reference));
  if (policy && policy->local_only && reference.layout != ServerReference::Layout::folder)
    return Error{ErrorCode::untrusted,
                 reference.to_string() + " is not contacted: " + policy->origin + " has local_only for it",
                 "change the policy, or name another place"};
  return policy;
}

}  // namespace cubinet
