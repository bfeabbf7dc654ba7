// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_pages.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/cubin_registry/bundle.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace cubinet {

// An image of a bundle that is being written, and one of the records that name it.
struct ImageToPack {
  Sha256Digest digest;
  std::shared_ptr<const CubinRecord> record;
};
// Returns the image of a record. Called on several threads.
using ReadImage =
    std::function<Result<std::shared_ptr<const Bytes>>(const std::shared_ptr<const CubinRecord>&)>;

// The frames of a compressing profile. Equal images give equal bytes with one release of libzstd,
// independent of the number of threads.
struct PackedFrames {
  std::vector<BundleImage> images;  // ascending by digest
  std::uint64_t bytes = 0;
  Bytes dictionary;  // empty: none
};
// Writes the next frame.
using WriteFrame = std::function<Result<void>(ByteView)>;

// Packs images into frames. Uses about 600 MB, independent of their number. REQUIRES: a compressing
// profile; each digest once.
Result<PackedFrames> pack_frames(BundleProfile profile, std::vector<ImageToPack> images,
                                 const ReadImage& read, const WriteFrame& write);
// Appends frames to existing ones with an existing dictionary, which may be empty.
Result<PackedFrames> pack_frames_with(Bytes dictionary, PackedFrames there, BundleProfile profile,
                                      std::vector<ImageToPack> images, const ReadImage& read,
                                      const WriteFrame& write);

}  // namespace cubinet
