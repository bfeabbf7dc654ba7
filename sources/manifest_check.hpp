// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/sources/source_manifest.hpp>

namespace cubinet {

// Returns invalid_argument, with the reason, for a manifest that contradicts itself: a name that is
// no name or occurs twice, a path that leaves the folder, a file that is not listed, a launch that
// no device has, or a flag that is not known (compiler_flags_of). `origin` begins the message.
Result<void> check_manifest(const SourceManifest& manifest, const std::string& origin);

}  // namespace cubinet
