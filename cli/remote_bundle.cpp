// SPDX-License-Identifier: Apache-2.0
#include "remote_bundle.hpp"

#include <cubinet/cubin_registry/byte_source.hpp>

namespace cubinet::cli {

Result<std::shared_ptr<Bundle>> open_remote(const Context& context,
                                            const std::shared_ptr<ContentServer>& server,
                                            const RemoteBundle& remote,
                                            const std::optional<TrustPolicy>& policy, bool remembers) {
  return open_bundle(remote_source(server, remote), context.console().log_sink(),
                     {policy, signatures_of(remote), Expiry::enforced, context.files(), remembers});
}

Result<BundleRoot> read_remote_root(const Context& context, const std::shared_ptr<ContentServer>& server,
                                    const Sha256Digest& manifest, const std::optional<TrustPolicy>& policy) {
  CUBINET_TRY_ASSIGN(RemoteBundle remote, read_remote_bundle(*server, manifest));
  SignatureSource signatures = signatures_of(remote);
  CUBINET_TRY_ASSIGN(const auto bundle,
                     open_bundle(remote_source(server, std::move(remote)), context.console().log_sink(),
                                 {policy, std::move(signatures), Expiry::reported, context.files(), false}));
  return bundle->root();
}

}  // namespace cubinet::cli
