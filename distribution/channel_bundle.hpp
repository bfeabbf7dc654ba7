// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/channel.hpp>
#include <cubinet/distribution/server_store.hpp>

#include <memory>

namespace cubinet {

// Returns whether the server must not be contacted.
bool is_local_only(const ServerStoreOptions& options);

// Opens the current bundle of a reference under the policy. Uses the manifest that the reference
// names or the home has pinned; else the manifest of a recent query of the channel; else queries
// the channel and remembers the answer. Only one of several processes queries. If there is no
// answer, or the policy refuses the newest bundle, opens the bundle that was used before and logs a
// warning.
Result<ChannelBundle> open_channel_bundle(const ServerStoreOptions& options,
                                          const std::shared_ptr<ContentServer>& server);

}  // namespace cubinet
