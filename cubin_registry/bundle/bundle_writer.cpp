// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_writer.hpp"

#include "bundle/bundle_index.hpp"
#include "store/same_build.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

using ImageBytes = std::shared_ptr<const Bytes>;

// The chunk size for copying frames between files.
constexpr std::uint64_t kCopyBytes = std::uint64_t{4} << 20;

// Returns the record without the facts that depend on the builder.
std::shared_ptr<const CubinRecord> as_bundled(const CubinRecord& record, std::uint64_t version) {
  auto bundled = std::make_shared<CubinRecord>(record);
  bundled->origin = CubinOrigin::bundle;
  bundled->version = version;
  return bundled;
}

Result<void> check_cubin(const Cubin& cubin) {
  if (cubin.record == nullptr || cubin.image == nullptr) {
    return Error{ErrorCode::invalid_argument, "a cubin without record or image cannot be bundled"};
  }
  if (cubin.record->size != cubin.image->size() || cubin.record->digest != sha256(*cubin.image)) {
    return Error{ErrorCode::invalid_argument,
                 "the record of " + describe_build(*cubin.record) + " describes another image"};
  }
  return {};
}

// Returns the records in the bundle's order, each build once.
Result<CubinRecords> bundled_records(const CubinRecords& given, std::uint64_t version) {
  CubinRecords records;
  for (const auto& record : given) {
    CUBINET_TRY(check_storable(*record));
    if (record->size == 0) {
      return Error{ErrorCode::invalid_argument, "the image of " + describe_build(*record) + " is empty",
                   "leave it out, or build it again"};
    }
    records.push_back(as_bundled(*record, version));
  }
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return bundle_order(*a, *b); });
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (!is_same_build(*records[i - 1], *records[i]) || *records[i - 1] == *records[i]) continue;
    return Error{
        ErrorCode::invalid_argument,
        describe_build(*records[i]) + " is given twice, with different contents for one build fingerprint"};
  }
  records.erase(std::unique(records.begin(), records.end(),
                            [](const auto& a, const auto& b) { return is_same_build(*a, *b); }),
                records.end());
  return records;
}

// Removes a file unless it was kept.
class TemporaryFile {
 public:
  TemporaryFile(FileSystem& files, const fs::path& beside)
      : files_(files), path_(temporary_path_beside(beside)) {}
  ~TemporaryFile() {
    // The original error is more useful than a failure to remove the file.
    if (!kept_) static_cast<void>(files_.remove(path_));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const fs::path& path() const { return path_; }
  Result<void> rename_to(const fs::path& path) {
    CUBINET_TRY(files_.rename(path_, path));
    kept_ = true;
    return {};
  }

 private:
  FileSystem& files_;
  const fs::path path_;
  bool kept_ = false;
};

class BundleWriter {
 public:
  BundleWriter(FileSystem& files, fs::path path, const ReadImage& read, const PackImages& pack, Bytes tuning)
      : files_(files), path_(std::move(path)), read_(read), pack_(pack), tuning_(std::move(tuning)) {}

  Result<void> write(const CubinRecords& given, const BundleOptions& options) {
    CUBINET_TRY_ASSIGN(const CubinRecords records, bundled_records(given, options.version));
    for (const auto& record : given) {
      auto& user = users_[record->digest];
      // Always the same one of several, because stored values depend on it.
      if (user == nullptr || bundle_order(*record, *user)) user = record;
    }
    std::optional<TemporaryFile> frames;
    PackedFrames packed;
    if (options.profile == BundleProfile::plain) {
      packed = place_images();
    } else {
      // The sizes of the frames are stored before them.
      frames.emplace(files_, path_);
      CUBINET_TRY_ASSIGN(packed, pack_into(frames->path()));
    }
    CUBINET_TRY_ASSIGN(const BundleIndex index,
                       make_index(options, records, packed.images, packed.dictionary, tuning_, packed.bytes));
    TemporaryFile whole(files_, path_);
    CUBINET_TRY_ASSIGN(file_, files_.create(whole.path()));
    CUBINET_TRY(write_head(index, packed.dictionary));
    CUBINET_TRY(frames ? copy_frames(frames->path()) : write_images(index, packed.images));
    CUBINET_TRY(write_zeros_to(index.map.root.file_bytes));
    CUBINET_TRY(file_->sync());
    CUBINET_TRY(file_->close());
    CUBINET_TRY(whole.rename_to(path_));
    return files_.sync_directory(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
  }

 private:
  // Places uncompressed images one after the other.
  PackedFrames place_images() const {
    PackedFrames placed;
    for (const auto& [digest, user] : users_) {
      BundleImage& image = placed.images.emplace_back();
      image.digest = image.frame_digest = digest;
      image.size = image.frame_bytes = image.frame_stored = static_cast<std::uint32_t>(user->size);
      image.frame_offset = (placed.bytes + kBundleAlignment - 1) / kBundleAlignment * kBundleAlignment;
      placed.bytes = image.frame_offset + image.frame_stored;
    }
    return placed;
  }

  Result<PackedFrames> pack_into(const fs::path& path) {
    std::vector<ImageToPack> images;
    for (const auto& [digest, user] : users_)
      images.push_back({digest, user});
    CUBINET_TRY_ASSIGN(const auto file, files_.create(path));
    CUBINET_TRY_ASSIGN(PackedFrames packed,
                       pack_(std::move(images), [&](ByteView frame) { return file->write(frame); }));
    CUBINET_TRY(file->close());
    return packed;
  }

  Result<void> put(ByteView bytes) {
    end_ += bytes.size();
    return file_->write(bytes);
  }
  Result<void> write_zeros_to(std::uint64_t offset) {
    return put(Bytes(static_cast<std::size_t>(offset - end_)));
  }

  Result<void> write_head(const BundleIndex& index, ByteView dictionary) {
    CUBINET_TRY(put(index.root));
    for (const Bytes& page : index.pages)
      CUBINET_TRY(put(page));
    CUBINET_TRY(put(dictionary));
    CUBINET_TRY(put(tuning_));
    return write_zeros_to(index.map.frames_offset);
  }

  Result<void> write_images(const BundleIndex& index, const std::vector<BundleImage>& images) {
    for (const BundleImage& image : images) {
      CUBINET_TRY(write_zeros_to(index.map.frames_offset + image.frame_offset));
      CUBINET_TRY_ASSIGN(const ImageBytes bytes, read_(users_.at(image.digest)));
      CUBINET_TRY(put(*bytes));
    }
    return {};
  }

  Result<void> copy_frames(const fs::path& from) {
    for (std::uint64_t offset = 0;; offset += kCopyBytes) {
      CUBINET_TRY_ASSIGN(const Bytes part, files_.read_range(from, offset, kCopyBytes));
      CUBINET_TRY(put(part));
      if (part.size() < kCopyBytes) return {};
    }
  }

  FileSystem& files_;
  const fs::path path_;
  const ReadImage& read_;
  const PackImages& pack_;
  // encoded; empty if there is none
  const Bytes tuning_;
  // the record through which each image is read
  std::map<Sha256Digest, std::shared_ptr<const CubinRecord>> users_;
  std::unique_ptr<WritableFile> file_;
  std::uint64_t end_ = 0;  // end of the written bytes
};

}  // namespace

std::string describe_build(const CubinRecord& record) {
  const auto decoded = decode_kernel(record.identity.kernel_encoding());
  const std::string spec = decoded ? decoded->to_string() : "kernel " + record.identity.key().to_string();
  return spec + " for " + record.target_name();
}

Result<void> write_bundle(const std::string& path, const CubinRecords& records, const BundleOptions& options,
                          const ReadImage& read, const PackImages& pack, const TuningTable& tuning,
                          FileSystem& files) {
  if (!is_printable(options.channel)) {
    return Error{ErrorCode::invalid_argument,
                 "a bundle's channel cannot be '" + printable(options.channel, kQuotedBytes) + "'",
                 "give it a name of one line, without control characters"};
  }
  CUBINET_TRY(tuning.check());
  Bytes encoded = tuning.empty() ? Bytes() : tuning.encode();
  if (encoded.size() > kMaximumTuningBytes) {
    return Error{ErrorCode::invalid_argument,
                 "a bundle holds measurements of at most " + std::to_string(kMaximumTuningBytes) + " bytes"};
  }
  return BundleWriter(files, path, read, pack, std::move(encoded)).write(records, options);
}

namespace {

// Writes a bundle whose images are all read in the same way.
Result<void> write_read(const std::string& path, const CubinRecords& records, const BundleOptions& options,
                        const ReadImage& read, const TuningTable& tuning, std::shared_ptr<FileSystem> files) {
  if (files == nullptr) files = posix_file_system();
  return write_bundle(
      path, records, options, read,
      [&](std::vector<ImageToPack> images, const WriteFrame& write) {
        return pack_frames(options.profile, std::move(images), read, write);
      },
      tuning, *files);
}

}  // namespace

Result<void> create_bundle(const std::string& path, std::vector<Cubin> cubins, const BundleOptions& options,
                           std::shared_ptr<FileSystem> files, const TuningTable& tuning) {
  CubinRecords records;
  std::map<Sha256Digest, ImageBytes> images;
  for (const Cubin& cubin : cubins) {
    CUBINET_TRY(check_cubin(cubin));
    records.push_back(cubin.record);
    images.emplace(cubin.record->digest, cubin.image);
  }
  return write_read(
      path, records, options,
      [&](const auto& record) -> Result<ImageBytes> { return images.at(record->digest); }, tuning,
      std::move(files));
}

Result<void> create_bundle(const std::string& path, Store& store, CubinRecords records,
                           const BundleOptions& options, std::shared_ptr<FileSystem> files,
                           const TuningTable& tuning) {
  return write_read(
      path, records, options,
      [&](const auto& record) -> Result<ImageBytes> {
        CUBINET_TRY_ASSIGN(auto cubin, store.load(record));
        if (cubin) return std::move(cubin->image);
        return Error{ErrorCode::corruption,
                     "the cubin of " + describe_build(*record) + " in '" + store.place_of(*record) +
                         "' is gone or damaged",
                     "compile or import it again, or leave it out"};
      },
      tuning, std::move(files));
}

}  // namespace cubinet
