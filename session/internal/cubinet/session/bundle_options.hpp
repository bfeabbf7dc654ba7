// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/bundle.hpp>

namespace cubinet {

// Returns invalid_argument for a channel that no bundle can have, and for a bundle that expires
// before it is made: before anything is computed for it. An empty channel is allowed: such a bundle
// is called by its file's name.
Result<void> check_bundle_options(const BundleOptions& options);

}  // namespace cubinet
