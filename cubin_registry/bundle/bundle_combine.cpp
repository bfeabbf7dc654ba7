// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_pack.hpp"
#include "bundle/bundle_writer.hpp"
#include "bundle/frame_check.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace cubinet {
namespace {

// The source of an image of the new bundle.
struct Origin {
  const BundlePack* pack = nullptr;
  BundleImage image;
};

class Combination {
 public:
  Combination(const BundleParts& parts, const BundleOptions& options) : parts_(parts), options_(options) {}

  Result<void> collect() {
    for (const auto& [bundle, records] : parts_) {
      const BundlePack& pack = bundle->pack();
      std::map<Sha256Digest, BundleImage> images;
      CUBINET_TRY_ASSIGN(const std::vector<BundleImage> all, pack.images());
      for (const BundleImage& image : all)
        images.emplace(image.digest, image);
      for (const auto& record : records) {
        const auto image = images.find(record->digest);
        if (image == images.end() || image->second.size != record->size) {
          return pack.at_place(
              Error{ErrorCode::corruption, describe_build(*record) + " names an image that is not in it"});
        }
        add_origin({&pack, image->second});
        records_.push_back(record);
      }
      if (dictionary_of_ == nullptr && copies_of(pack)) dictionary_of_ = &pack;
    }
    return {};
  }

  const CubinRecords& records() const { return records_; }

  Result<std::shared_ptr<const Bytes>> read(const CubinRecord& record) const {
    std::optional<Error> damage;  // another part may have the image undamaged
    for (const Origin& origin : origins_.at(record.digest)) {
      auto bytes = origin.pack->read_image(origin.image);
      if (bytes) return std::make_shared<const Bytes>(*std::move(bytes));
      Error error = origin.pack->at_place(std::move(bytes).error());
      if (error.code != ErrorCode::corruption) return error;
      if (!damage) damage = std::move(error);
    }
    return *std::move(damage);
  }

  Result<PackedFrames> pack(std::vector<ImageToPack> images, const ReadImage& read, const WriteFrame& write) {
    if (dictionary_of_ == nullptr) return pack_frames(options_.profile, std::move(images), read, write);
    CUBINET_TRY_ASSIGN(const Bytes dictionary, dictionary_of_->read_dictionary());
    PackedFrames copied;
    CUBINET_TRY(copy_frames(copied, write));
    std::set<Sha256Digest> there;
    for (const BundleImage& image : copied.images)
      there.insert(image.digest);
    std::erase_if(images, [&](const ImageToPack& image) { return there.contains(image.digest); });
    return pack_frames_with(dictionary, std::move(copied), options_.profile, std::move(images), read, write);
  }

 private:
  void add_origin(const Origin& origin) {
    std::vector<Origin>& origins = origins_[origin.image.digest];
    if (origins.empty() || origins.back().pack != origin.pack) origins.push_back(origin);
  }

  // Returns true if frames of this bundle can be copied into the new one.
  bool copies_of(const BundlePack& pack) const {
    const BundleMap& map = pack.map();
    if (map.root.options.profile != options_.profile || options_.profile == BundleProfile::plain)
      return false;
    return dictionary_of_ == nullptr || map.dictionary == dictionary_of_->map().dictionary;
  }

  // Copies each undamaged frame whose images the new bundle takes all from this part. Images of
  // other frames are packed again.
  Result<void> copy_frames(PackedFrames& copied, const WriteFrame& write) const {
    for (const auto& part : parts_) {
      const BundlePack& pack = part.first->pack();
      if (!copies_of(pack)) continue;
      CUBINET_TRY_ASSIGN(const std::vector<BundleImage> all, pack.images());
      std::map<std::uint64_t, std::vector<BundleImage>> frames;
      for (const BundleImage& image : all)
        frames[image.frame_offset].push_back(image);
      for (auto& [offset, images] : frames) {
        const bool wanted = std::all_of(images.begin(), images.end(), [&](const BundleImage& image) {
          const auto origin = origins_.find(image.digest);
          return origin != origins_.end() && origin->second.front().pack == &pack;
        });
        if (!wanted) continue;
        std::sort(images.begin(), images.end(),
                  [](const BundleImage& a, const BundleImage& b) { return a.offset < b.offset; });
        const auto stored = read_sound_frame(pack, images);
        if (!stored && stored.error().code == ErrorCode::corruption) continue;
        if (!stored) return stored.error();
        CUBINET_TRY(copy_frame(*stored, images, copied, write));
      }
    }
    return {};
  }

  static Result<void> copy_frame(const Bytes& stored, const std::vector<BundleImage>& images,
                                 PackedFrames& copied, const WriteFrame& write) {
    for (BundleImage image : images) {
      image.frame_offset = copied.bytes;
      copied.images.push_back(image);
    }
    copied.bytes += stored.size();
    return write(stored);
  }

  const BundleParts& parts_;
  const BundleOptions& options_;
  CubinRecords records_;
  std::map<Sha256Digest, std::vector<Origin>> origins_;  // in the order of the parts
  const BundlePack* dictionary_of_ = nullptr;
};

}  // namespace

Result<void> combine_bundles(const std::string& path, const BundleParts& parts, const BundleOptions& options,
                             std::shared_ptr<FileSystem> files) {
  if (files == nullptr) files = posix_file_system();
  Combination combination(parts, options);
  CUBINET_TRY(combination.collect());
  TuningTable tuning;
  for (const auto& part : parts) {
    CUBINET_TRY_ASSIGN(const TuningTable of_part, part.first->tuning());
    tuning.merge(of_part);
  }
  const ReadImage read = [&](const auto& record) { return combination.read(*record); };
  return write_bundle(
      path, combination.records(), options, read,
      [&](std::vector<ImageToPack> images, const WriteFrame& write) {
        return combination.pack(std::move(images), read, write);
      },
      tuning, *files);
}

}  // namespace cubinet
