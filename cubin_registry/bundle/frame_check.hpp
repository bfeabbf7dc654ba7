// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pack.hpp"

#include <span>

namespace cubinet {

// REQUIRES for both functions: `images` are all images of one frame, ascending by offset.

// Returns an error (corruption) unless the images agree on their frame and fill it without gaps.
Result<void> check_frame(std::span<const BundleImage> images);

// Returns the stored bytes of a frame. Unpacks it and returns an error (corruption) unless the
// frame and each of its images have their digests.
Result<Bytes> read_sound_frame(const BundlePack& pack, std::span<const BundleImage> images);

}  // namespace cubinet
