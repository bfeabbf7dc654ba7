// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_format.hpp"
#include "store/record_lists.hpp"
#include "store/record_row.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/cubin_registry/bundle.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

using Images = std::map<Sha256Digest, std::shared_ptr<const Bytes>>;

std::string describe(const CubinRecord& record) {
  const auto decoded = decode_kernel(record.identity.kernel_encoding());
  const std::string spec = decoded ? decoded->to_string() : "kernel " + record.identity.key().to_string();
  return spec + " for " + record.target.to_string();
}

// What a bundle's record says beside the build itself is the same whoever built it.
std::shared_ptr<const CubinRecord> as_bundled(const CubinRecord& record, std::uint64_t version) {
  auto bundled = std::make_shared<CubinRecord>(record);
  bundled->origin = CubinOrigin::bundle;
  bundled->version = version;
  return bundled;
}

Result<void> check_whole(const Cubin& cubin) {
  if (cubin.record == nullptr || cubin.image == nullptr) {
    return Error{ErrorCode::invalid_argument, "a cubin without record or image cannot be bundled"};
  }
  if (cubin.record->size != cubin.image->size() || cubin.record->digest != sha256(*cubin.image)) {
    return Error{ErrorCode::invalid_argument,
                 "the record of " + describe(*cubin.record) + " describes another image"};
  }
  return check_storable(*cubin.record);
}

bool same_entry(const CubinRecord& a, const CubinRecord& b) {
  return a.identity == b.identity && a.fingerprint == b.fingerprint;
}

Result<BundleManifest> make_manifest(const std::vector<Cubin>& cubins, const BundleOptions& options,
                                     Images& images) {
  BundleManifest manifest;
  manifest.options = options;
  for (const Cubin& cubin : cubins) {
    CUBINET_TRY(check_whole(cubin));
    images.emplace(cubin.record->digest, cubin.image);
    manifest.records.push_back(as_bundled(*cubin.record, options.version));
  }
  auto& records = manifest.records;
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return bundle_order(*a, *b); });
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (!same_entry(*records[i - 1], *records[i]) || *records[i - 1] == *records[i]) continue;
    return Error{
        ErrorCode::invalid_argument,
        describe(*records[i]) + " is given twice, with different contents for one build fingerprint"};
  }
  records.erase(std::unique(records.begin(), records.end(),
                            [](const auto& a, const auto& b) { return same_entry(*a, *b); }),
                records.end());
  for (const auto& [digest, image] : images)
    manifest.images.push_back({digest, 0, image->size()});
  return manifest;
}

Result<void> write_bundle(FileSystem& files, const fs::path& path, ByteView head,
                          const BundleManifest& manifest, const Images& images) {
  CUBINET_TRY_ASSIGN(const auto file, files.create(path));
  CUBINET_TRY(file->write(head));
  std::uint64_t end = head.size();
  for (const BundleImage& image : manifest.images) {
    const Bytes zeros(static_cast<std::size_t>(image.offset - end));
    CUBINET_TRY(file->write(zeros));
    CUBINET_TRY(file->write(*images.at(image.digest)));
    end = image.offset + image.size;
  }
  CUBINET_TRY(file->sync());
  return file->close();
}

class FileBundle final : public Bundle {
 public:
  FileBundle(std::shared_ptr<FileSystem> files, fs::path path, BundleManifest manifest, LogSink log)
      : files_(std::move(files)),
        path_(std::move(path)),
        manifest_(std::move(manifest)),
        log_(std::move(log)),
        description_{StoreKind::bundle, fs::absolute(path_).native(), false} {
    for (std::size_t i = 0; i < manifest_.records.size(); ++i)
      by_kernel_.emplace(manifest_.records[i]->identity.kernel_hash(), i);
    collect_rows();
    in_order_ = manifest_.records;
    sort_records(in_order_);
  }

  const StoreDescription& description() const override { return description_; }
  const BundleOptions& options() const override { return manifest_.options; }
  const CubinRecords& records() const override { return manifest_.records; }

  Result<CubinRecords> find(const KernelId& kernel) override {
    CubinRecords found;
    const auto [begin, end] = by_kernel_.equal_range(kernel.hash());
    for (auto position = begin; position != end; ++position) {
      const auto& record = manifest_.records[position->second];
      if (record->identity.is_of(kernel)) found.push_back(record);
    }
    return found;
  }
  Result<CubinRecords> find_key(KernelKey key) override { return with_key(in_order_, key); }
  Result<CubinRecords> find_function(std::string_view symbol) override {
    return with_function(in_order_, symbol);
  }
  Result<CubinRecords> list() override { return in_order_; }
  Result<std::shared_ptr<const StoredRows>> rows() override { return rows_; }

  Result<std::optional<Cubin>> load(std::shared_ptr<const CubinRecord> record) override {
    auto cubin = read(std::move(record));
    if (cubin) return *std::move(cubin);
    const ErrorCode code = cubin.error().code;
    if (code != ErrorCode::corruption && code != ErrorCode::not_found) return std::move(cubin).error();
    log(log_, LogLevel::error, "bundle entry passed over: " + cubin.error().to_line());
    return std::optional<Cubin>();
  }

  Result<Cubin> read(std::shared_ptr<const CubinRecord> record) const override {
    const BundleImage* image = find_image(manifest_.images, record->digest);
    if (image == nullptr || image->size != record->size) {
      return Error{ErrorCode::invalid_argument,
                   describe(*record) + " is not in bundle '" + path_.string() + "'"};
    }
    CUBINET_TRY_ASSIGN(Bytes bytes, files_->read_range(path_, image->offset, image->size));
    if (bytes.size() != image->size || sha256(bytes) != image->digest) {
      return Error{
          ErrorCode::corruption,
          "the image of " + describe(*record) + " in bundle '" + path_.string() + "' is damaged: " +
              (bytes.size() != image->size ? "the file ends before it does" : "its SHA-256 is another"),
          "fetch or create the bundle again"};
    }
    return Cubin{std::move(record), std::make_shared<const Bytes>(std::move(bytes))};
  }

  Result<VerifyReport> verify() const override;

 private:
  Result<void> check_zeros(std::uint64_t from, std::uint64_t to, VerifyReport& report) const;

  std::shared_ptr<FileSystem> files_;
  void collect_rows();

  fs::path path_;
  BundleManifest manifest_;
  LogSink log_;
  StoreDescription description_;
  CubinRecords in_order_;  // as list() gives them
  std::shared_ptr<const StoredRows> rows_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_kernel_;
};

void FileBundle::collect_rows() {
  StoredRows rows;
  for (const auto& record : manifest_.records) {
    if (auto row = row_of(*record, path_.native())) rows.push_back({std::move(row), record});
  }
  rows_ = std::make_shared<const StoredRows>(std::move(rows));
}

Result<void> FileBundle::check_zeros(std::uint64_t from, std::uint64_t to, VerifyReport& report) const {
  CUBINET_TRY_ASSIGN(const Bytes bytes, files_->read_range(path_, from, to - from));
  if (std::any_of(bytes.begin(), bytes.end(), [](std::byte value) { return value != std::byte{0}; })) {
    report.findings.push_back({StoreFinding::Kind::stray_file, path_.native(),
                               "there are bytes between images, before offset " + std::to_string(to)});
  }
  return {};
}

Result<VerifyReport> FileBundle::verify() const {
  VerifyReport report;
  report.entries = manifest_.records.size();
  std::map<Sha256Digest, std::shared_ptr<const CubinRecord>> users;
  for (const auto& record : manifest_.records)
    users.emplace(record->digest, record);
  for (const BundleImage& image : manifest_.images) {
    auto cubin = read(users.at(image.digest));
    if (cubin) {
      report.bytes += image.size;
    } else if (cubin.error().code == ErrorCode::corruption) {
      report.findings.push_back({StoreFinding::Kind::damaged_cubin, path_.native(), cubin.error().message});
    } else {
      return std::move(cubin).error();
    }
  }
  // open() checked the manifest; the file may have changed since.
  CUBINET_TRY(open(path_.native(), files_));
  std::uint64_t end = manifest_.head_bytes;
  for (const BundleImage& image : manifest_.images) {
    CUBINET_TRY(check_zeros(end, image.offset, report));
    end = image.offset + image.size;
  }
  CUBINET_TRY_ASSIGN(const auto rest, files_->read_range(path_, manifest_.file_bytes, 1));
  if (!rest.empty()) {
    report.findings.push_back({StoreFinding::Kind::stray_file, path_.native(),
                               "there are bytes after its end at " + std::to_string(manifest_.file_bytes)});
  }
  return report;
}

}  // namespace

Result<void> create_bundle(const std::string& name, std::vector<Cubin> cubins, const BundleOptions& options,
                           std::shared_ptr<FileSystem> files) {
  if (files == nullptr) files = posix_file_system();
  if (!is_printable(options.name)) {
    return Error{ErrorCode::invalid_argument,
                 "a bundle cannot be named '" + printable(options.name, kQuotedBytes) + "'",
                 "give it a name of one line, without control characters"};
  }
  const fs::path path = name;
  Images images;
  CUBINET_TRY_ASSIGN(BundleManifest manifest, make_manifest(cubins, options, images));
  const Bytes head = encode_bundle_head(manifest);
  if (manifest.file_bytes > kMaximumBundleBytes || head.size() > kMaximumManifestBytes) {
    return Error{ErrorCode::invalid_argument, "a bundle cannot hold more than 8 GiB, or 256 MiB of records",
                 "make several"};
  }
  const fs::path temporary = temporary_path_beside(path);
  auto written = write_bundle(*files, temporary, head, manifest, images);
  if (written) written = files->rename(temporary, path);
  if (!written) {
    // The first error is the one that matters.
    static_cast<void>(files->remove(temporary));
    return written;
  }
  return files->sync_directory(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

Result<std::shared_ptr<Bundle>> Bundle::open(const std::string& name, std::shared_ptr<FileSystem> files,
                                             LogSink log) {
  if (files == nullptr) files = posix_file_system();
  const fs::path path = name;
  const auto in_file = [&](Error error) {
    error.message += " ('" + path.string() + "')";
    if (error.remedy.empty()) error.remedy = "fetch or create the bundle again";
    return error;
  };
  CUBINET_TRY_ASSIGN(const Bytes header, files->read_range(path, 0, kBundleHeaderBytes));
  const auto decoded = decode_bundle_header(header);
  if (!decoded) return in_file(decoded.error());
  CUBINET_TRY_ASSIGN(const Bytes bytes, files->read_range(path, kBundleHeaderBytes, decoded->manifest_bytes));
  auto manifest = decode_bundle_manifest(header, bytes);
  if (!manifest) return in_file(std::move(manifest).error());
  return std::shared_ptr<Bundle>(
      std::make_shared<FileBundle>(std::move(files), path, *std::move(manifest), std::move(log)));
}

}  // namespace cubinet
