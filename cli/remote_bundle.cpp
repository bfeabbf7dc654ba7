// SPDX-License-Identifier: Apache-2.0
#include "remote_bundle.hpp"

#include <cubinet/cubin_registry/byte_source.hpp>

namespace cubinet::cli {
namespace {

// Who is asked for the signatures that travelled with it.
SignatureSource signatures_of(const RemoteBundle& remote) {
  return [signatures = remote.signatures](const std::string& key_id) -> Result<std::optional<Bytes>> {
    for (const BundleSignature& signature : signatures) {
      if (signature.key_id == key_id) return std::optional(signature.content);
    }
    return std::optional<Bytes>();
  };
}

}  // namespace

Result<std::optional<TrustPolicy>> policy_of(const Context& context, const ServerReference& reference) {
  std::error_code unknown;
  const bool folder = reference.layout == ServerReference::Layout::folder;
  const std::string place =
      folder ? std::filesystem::absolute(reference.path, unknown).lexically_normal().string()
             : reference.to_string();
  const auto home = context.home();
  CUBINET_TRY_ASSIGN(auto policy, find_trust_policy(place, home ? home->string() : std::string(),
                                                    context.named_policy(), context.files()));
  if (policy && policy->local_only && !folder)
    return Error{ErrorCode::untrusted, place + " is not asked: " + policy->origin + " has local_only for it",
                 "change the policy, or name another place"};
  return policy;
}

Result<std::shared_ptr<Bundle>> open_remote_root(const Context& context,
                                                 const std::shared_ptr<ContentServer>& server,
                                                 const RemoteBundle& remote,
                                                 const std::optional<TrustPolicy>& policy) {
  RemoteBundle root_alone = remote;
  root_alone.pack.size = 0;
  return open_bundle(remote_source(server, std::move(root_alone)), context.console().log_sink(),
                     {policy, signatures_of(remote), Expiry::enforced, context.files()});
}

}  // namespace cubinet::cli
