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

// An image of a bundle that is being made, and one of the records that name it.
struct ImageToPack {
  Sha256Digest digest;
  std::shared_ptr<const CubinRecord> record;
};
// The image, which is the record's. Called from several threads.
using ReadImage =
    std::function<Result<std::shared_ptr<const Bytes>>(const std::shared_ptr<const CubinRecord>&)>;

// Frames as a profile that packs has them: equal images in equal numbers of threads or one give equal bytes,
// by one release of libzstd.
struct PackedFrames {
  std::vector<BundleImage> images;  // ascending by digest
  std::uint64_t bytes = 0;
  Bytes dictionary;  // empty: none
};
// Where frames go, one behind the other.
using WriteFrame = std::function<Result<void>(ByteView)>;

// REQUIRES: a profile that packs; each digest once. Holds some 600 MB at once, however many there
// are.
Result<PackedFrames> pack_frames(BundleProfile profile, std::vector<ImageToPack> images,
                                 const ReadImage& read, const WriteFrame& write);
// The same with a dictionary that is there, which may be empty, behind the frames that are there already.
Result<PackedFrames> pack_frames_with(Bytes dictionary, PackedFrames there, BundleProfile profile,
                                      std::vector<ImageToPack> images, const ReadImage& read,
                                      const WriteFrame& write);

}  // namespace cubinet
