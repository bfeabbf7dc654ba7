// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context.hpp"

#include <cubinet/distribution/bundle_transfer.hpp>
#include <cubinet/distribution/server_reference.hpp>
#include <cubinet/trust/verification.hpp>

namespace cubinet::cli {

// What the policy asks for is asked of the root and signatures alone, before a byte of the pack travels.
// `remembers`: that its version was seen.
Result<std::shared_ptr<Bundle>> open_remote(const Context& context,
                                            const std::shared_ptr<ContentServer>& server,
                                            const RemoteBundle& remote,
                                            const std::optional<TrustPolicy>& policy, bool remembers = true);

// What the root of a manifest's bundle says, its policy asked; that it was seen is not remembered.
Result<BundleRoot> read_remote_root(const Context& context, const std::shared_ptr<ContentServer>& server,
                                    const Sha256Digest& manifest, const std::optional<TrustPolicy>& policy);

}  // namespace cubinet::cli
