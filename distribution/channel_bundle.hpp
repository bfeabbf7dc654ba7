// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/distribution/channel.hpp>
#include <cubinet/distribution/server_store.hpp>

#include <memory>

namespace cubinet {

// Whether the server may not be asked at all.
bool is_local_only(const ServerStoreOptions& options);

// Opens the current bundle of a reference under the policy: of the manifest that the reference names or that
// the home has pinned; else of the manifest that the channel named when it was queried not long ago; else of
// the one that it names now, which is remembered. One of several processes queries. If there is no answer, or
// the policy refuses the newest bundle, opens the one that was used before and logs a warning.
Result<ChannelBundle> open_channel_bundle(const ServerStoreOptions& options,
                                          const std::shared_ptr<ContentServer>& server);

}  // namespace cubinet
