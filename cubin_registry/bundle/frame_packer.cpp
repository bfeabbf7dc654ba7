// SPDX-License-Identifier: Apache-2.0
#include "bundle/frame_packer.hpp"

#include "bundle/zstd_frame.hpp"

#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace cubinet {
namespace {

// The bytes that a dictionary is trained on.
constexpr std::uint64_t kSampleBytes = std::uint64_t{320} << 20;
// A dictionary must be small compared with the images. On published cubins, doubling it (below 2
// MiB) saves more than it adds if the images have about this many times its size.
constexpr std::uint64_t kImageBytesPerDictionaryByte = 48;
constexpr std::uint64_t kSmallestDictionary = std::uint64_t{64} << 10;
// Frames packed between two writes.
constexpr std::size_t kBatch = 64;

struct Group {
  std::vector<const ImageToPack*> images;
  std::uint64_t bytes = 0;
};

// Sorts similar images together: by function name, then by specification.
void sort_by_likeness(std::vector<ImageToPack>& images) {
  const auto order = [](const ImageToPack& image) {
    const auto& entries = image.record->entry_points;
    return std::tuple<std::string_view, const Bytes&, const Sha256Digest&>(
        entries.empty() ? std::string_view() : std::string_view(entries.front().symbol),
        image.record->identity.encoding(), image.digest);
  };
  std::sort(images.begin(), images.end(),
            [&](const ImageToPack& a, const ImageToPack& b) { return order(a) < order(b); });
}

std::vector<Group> make_groups(BundleProfile profile, const std::vector<ImageToPack>& images) {
  const std::size_t most = profile == BundleProfile::archive ? kMostImagesOfFrame : 1;
  std::vector<Group> groups;
  for (const ImageToPack& image : images) {
    const std::uint64_t size = image.record->size;
    if (groups.empty() || groups.back().images.size() == most ||
        groups.back().bytes + size > kMostBytesOfSharedFrame)
      groups.emplace_back();
    groups.back().images.push_back(&image);
    groups.back().bytes += size;
  }
  return groups;
}

// Trains on samples spread over all images. Empty if there are too few.
Result<Bytes> train(const std::vector<ImageToPack>& images, const ReadImage& read) {
  std::uint64_t bytes = 0;
  for (const ImageToPack& image : images)
    bytes += image.record->size;
  const std::uint64_t size = std::min(bytes / kImageBytesPerDictionaryByte, kMaximumDictionaryBytes);
  if (size < kSmallestDictionary) return Bytes();
  const auto step = static_cast<std::size_t>(bytes / kSampleBytes + 1);
  Bytes samples;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < images.size(); i += step) {
    CUBINET_TRY_ASSIGN(const auto image, read(images[i].record));
    samples.insert(samples.end(), image->begin(), image->end());
    sizes.push_back(image->size());
  }
  return train_dictionary(samples, sizes, static_cast<std::size_t>(size));
}

// A stored frame and the locations of its images.
struct PackedFrame {
  Bytes stored;
  std::vector<BundleImage> images;
};

Result<PackedFrame> pack_group(const Group& group, const ReadImage& read, const ZstdPacker& packer) {
  PackedFrame frame;
  Bytes content;
  content.reserve(static_cast<std::size_t>(group.bytes));
  for (const ImageToPack* image : group.images) {
    CUBINET_TRY_ASSIGN(const auto bytes, read(image->record));
    BundleImage& placed = frame.images.emplace_back();
    placed.digest = image->digest;
    placed.offset = static_cast<std::uint32_t>(content.size());
    placed.size = static_cast<std::uint32_t>(bytes->size());
    content.insert(content.end(), bytes->begin(), bytes->end());
  }
  frame.stored = packer.pack(content);
  const bool smaller = frame.stored.size() < content.size();
  const auto frame_bytes = static_cast<std::uint32_t>(content.size());
  if (!smaller) frame.stored = std::move(content);
  const Sha256Digest digest = sha256(frame.stored);
  for (BundleImage& image : frame.images) {
    image.frame_stored = static_cast<std::uint32_t>(frame.stored.size());
    image.frame_bytes = frame_bytes;
    image.frame_digest = digest;
    image.codec = smaller ? FrameCodec::zstd : FrameCodec::plain;
  }
  return frame;
}

}  // namespace

Result<PackedFrames> pack_frames(BundleProfile profile, std::vector<ImageToPack> images,
                                 const ReadImage& read, const WriteFrame& write) {
  sort_by_likeness(images);
  CUBINET_TRY_ASSIGN(Bytes dictionary, train(images, read));
  return pack_frames_with(std::move(dictionary), {}, profile, std::move(images), read, write);
}

Result<PackedFrames> pack_frames_with(Bytes dictionary, PackedFrames there, BundleProfile profile,
                                      std::vector<ImageToPack> images, const ReadImage& read,
                                      const WriteFrame& write) {
  sort_by_likeness(images);
  PackedFrames packed = std::move(there);
  packed.dictionary = std::move(dictionary);
  const std::vector<Group> groups = make_groups(profile, images);
  const ZstdPacker packer(packed.dictionary, profile == BundleProfile::archive ? ZstdPacker::Frames::large
                                                                               : ZstdPacker::Frames::small);
  for (std::size_t from = 0; from < groups.size(); from += kBatch) {
    std::vector<std::optional<Result<PackedFrame>>> frames(std::min(kBatch, groups.size() - from));
    parallel_for(frames.size(), 0,
                 [&](std::size_t i) { frames[i] = pack_group(groups[from + i], read, packer); });
    for (auto& frame : frames) {
      if (!*frame) return std::move(*frame).error();
      for (BundleImage& image : (*frame)->images) {
        image.frame_offset = packed.bytes;
        packed.images.push_back(image);
      }
      CUBINET_TRY(write((*frame)->stored));
      packed.bytes += (*frame)->stored.size();
    }
  }
  std::sort(packed.images.begin(), packed.images.end(),
            [](const BundleImage& a, const BundleImage& b) { return a.digest < b.digest; });
  return packed;
}

}  // namespace cubinet
