// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>

namespace cubinet {

// Returns invalid_argument for a channel that no bundle can have, and for a bundle that expires
// before it is created. Call it before any work for the bundle. An empty channel is allowed: the
// bundle is then named by its file.
Result<void> check_bundle_options(const BundleOptions& options);

}  // namespace cubinet
