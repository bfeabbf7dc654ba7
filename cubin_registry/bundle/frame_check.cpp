// SPDX-License-Identifier: Apache-2.0
#include "bundle/frame_check.hpp"

#include <string>

namespace cubinet {
namespace {

Error damaged_frame(const BundleImage& first, const std::string& reason) {
  return Error{ErrorCode::corruption, "the frame of image " + first.digest.to_hex() + ": " + reason};
}

}  // namespace

Result<void> check_frame(std::span<const BundleImage> images) {
  const BundleImage& first = images.front();
  if (images.size() > kMostImagesOfFrame) return damaged_frame(first, "it holds too many images");
  std::uint64_t end = 0;
  for (const BundleImage& image : images) {
    const bool same = image.frame_stored == first.frame_stored && image.frame_bytes == first.frame_bytes &&
                      image.frame_digest == first.frame_digest && image.codec == first.codec;
    if (!same || image.offset != end) return damaged_frame(first, "its images are not adjacent");
    end = std::uint64_t{image.offset} + image.size;
  }
  if (end != first.frame_bytes) return damaged_frame(first, "it holds more than its images");
  return {};
}

Result<Bytes> read_sound_frame(const BundlePack& pack, std::span<const BundleImage> images) {
  CUBINET_TRY(check_frame(images));
  const BundleImage& first = images.front();
  CUBINET_TRY_ASSIGN(Bytes stored, pack.read_stored(first));
  if (sha256(stored) != first.frame_digest) return damaged_frame(first, "it has the wrong SHA-256");
  const auto content = pack.unpack(first, stored);
  if (!content && content.error().code != ErrorCode::corruption) return content.error();
  if (!content) return damaged_frame(first, content.error().message);
  for (const BundleImage& image : images) {
    if (sha256(ByteView(*content).subspan(image.offset, image.size)) != image.digest)
      return damaged_frame(first, "image " + image.digest.to_hex() + " has the wrong SHA-256");
  }
  return stored;
}

}  // namespace cubinet
