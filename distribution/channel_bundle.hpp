// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/distribution/server_store.hpp>

#include <memory>

namespace cubinet {

// Whether the server may not be asked at all.
bool is_local_only(const ServerStoreOptions& options);

// The bundle that the reference means now, under the policy: the manifest that it names or that the home has
// pinned; else what the channel named when it was asked not long ago; else what it names. Of several
// processes one asks. Where there is no answer, or what it names now may not be used, the one that was used
// before is, which the log says. What the channel named is remembered.
Result<std::shared_ptr<Bundle>> open_channel_bundle(const ServerStoreOptions& options,
                                                    const std::shared_ptr<ContentServer>& server);

}  // namespace cubinet
