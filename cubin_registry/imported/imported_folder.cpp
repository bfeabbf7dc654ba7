// SPDX-License-Identifier: Apache-2.0
#include "imported/imported_folder.hpp"

#include "store/image_file.hpp"

#include <cubinet/base/parallel.hpp>
#include <cubinet/cubin_registry/record_lists.hpp>
#include <cubinet/kernel_table/published_header.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <algorithm>

namespace cubinet {

namespace fs = std::filesystem;
namespace {

constexpr std::size_t kRowsOfThread = 2048;  // some milliseconds: less work is not worth a thread

}  // namespace

ImportedFolder::ImportedFolder(ImportedImages images, std::uint64_t number, ArtifactImport import)
    : images_(std::move(images)),
      number_(number),
      description_{.kind = "imported", .place = import.folder, .source = KernelSource::imported} {
  for (KernelRow& row : import.rows) {
    row.version = number;
    row.source = import.folder;
  }
  import_ = std::make_shared<const ArtifactImport>(std::move(import));
}

const ImportedFolder::Builds& ImportedFolder::builds() const {
  std::call_once(made_, [&] { builds_ = make_builds(); });
  return builds_;
}

ImportedFolder::Builds ImportedFolder::make_builds() const {
  Builds builds;
  builds.files = FileIndex(import_->files);
  const auto record_of = [&](const auto& kernel, KernelIdentity identity) {
    auto record = std::make_shared<CubinRecord>();
    record->identity = std::move(identity);
    record->target = kernel.target;
    record->fingerprint.digest = kernel.digest;
    record->digest = kernel.digest;
    record->size = builds.files.find(kernel.digest)->size;
    record->origin = CubinOrigin::imported;
    record->version = number_;
    EntryPoint& entry = record->entry_points.emplace_back();
    entry.name = kernel.function_name;
    entry.symbol = kernel.function_name;
    entry.threads = kernel.threads;
    entry.dynamic_shared_bytes = kernel.shared_bytes;
    return record;
  };
  const std::vector<KernelRow>& kernels = import_->rows;
  StoredRows rows(kernels.size());
  builds.records.reserve(kernels.size() + import_->plain.size());
  builds.records.resize(kernels.size());
  // A table of thousands of rows takes half of the time of a first lookup of a published kernel.
  parallel_for((kernels.size() + kRowsOfThread - 1) / kRowsOfThread, 0, [&](std::size_t part) {
    const std::size_t end = std::min((part + 1) * kRowsOfThread, kernels.size());
    for (std::size_t i = part * kRowsOfThread; i < end; ++i) {
      const KernelRow& row = kernels[i];
      auto record = record_of(row, identify(row));
      // The publisher's launcher lets each kernel of a known layout start before its predecessor
      // ends.
      record->entry_points.front().programmatic_launch = !row.layout.empty();
      if (const PublishedHeader* header = find_published_header(row))
        record->entry_points.front().parameter_bytes = header->argument_bytes;
      const ByteView encoding = record->identity.kernel_encoding();
      record->row.assign(encoding.begin(), encoding.end());
      rows[i] = {std::shared_ptr<const KernelRow>(import_, &row), record};
      builds.records[i] = std::move(record);
    }
  });
  for (const PlainKernel& kernel : import_->plain) {
    KernelSpec spec{kernel.function_name, {}, KernelMaker::function};
    if (!import_->pin.empty()) spec.set("pin", import_->pin);
    builds.records.push_back(record_of(kernel, identify(spec, kernel.target)));
  }
  builds.by_kernel.reserve(builds.records.size());
  for (std::size_t i = 0; i < builds.records.size(); ++i)
    builds.by_kernel.emplace_back(builds.records[i]->identity.kernel_hash(), i);
  std::sort(builds.by_kernel.begin(), builds.by_kernel.end());
  builds.rows = std::make_shared<const StoredRows>(std::move(rows));
  return builds;
}

Result<bool> ImportedFolder::available() const {
  if (import_->placement != ArtifactPlacement::in_place) return true;
  CUBINET_TRY_ASSIGN(const auto status, images_.files->status(import_->folder));
  return status && status->type == FileStatus::Type::directory;
}

ImportSummary ImportedFolder::summary() const {
  ImportSummary summary{number_, import_->folder, import_->pin, import_->version, import_->placement};
  summary.rows = import_->rows.size();
  summary.plain = import_->plain.size();
  summary.files = import_->files.size();
  for (const ArtifactFile& file : import_->files)
    summary.bytes += file.size;
  const auto there = available();
  summary.gone = there && !*there;
  return summary;
}

Result<CubinRecords> ImportedFolder::find(const KernelId& kernel) {
  CubinRecords found;
  if (kernel.maker() == KernelMaker::kernel_template) return found;
  const Builds& made = builds();
  auto position = std::lower_bound(made.by_kernel.begin(), made.by_kernel.end(),
                                   std::pair(kernel.hash(), std::size_t{0}));
  for (; position != made.by_kernel.end() && position->first == kernel.hash(); ++position) {
    const auto& record = made.records[position->second];
    if (record->identity.is_of(kernel)) found.push_back(record);
  }
  if (found.empty()) return found;
  CUBINET_TRY_ASSIGN(const bool there, available());
  return there ? found : CubinRecords();
}

Result<CubinRecords> ImportedFolder::find_key(KernelKey key) {
  CUBINET_TRY_ASSIGN(const bool there, available());
  return there ? with_key(builds().records, key) : CubinRecords();
}

Result<CubinRecords> ImportedFolder::find_function(std::string_view symbol) {
  CUBINET_TRY_ASSIGN(const bool there, available());
  return there ? with_function(builds().records, symbol) : CubinRecords();
}

Result<CubinRecords> ImportedFolder::list() {
  CubinRecords records = builds().records;
  sort_records(records);
  return records;
}

Result<std::shared_ptr<const Bytes>> ImportedFolder::read(const ArtifactFile& file) const {
  if (import_->placement != ArtifactPlacement::in_place) return images_.kept(file.digest, file.size);
  const fs::path path = fs::path(import_->folder) / file.name;
  return verified_bytes(images_.files->read(path, std::max<std::uint64_t>(file.size, 1)), path, file.digest);
}

Result<std::optional<Cubin>> ImportedFolder::load(std::shared_ptr<const CubinRecord> record) {
  const ArtifactFile* file = builds().files.find(record->digest);
  if (file == nullptr) return std::optional<Cubin>();
  auto image = read(*file);
  if (image) return std::optional<Cubin>(Cubin{std::move(record), *std::move(image)});
  if (image.error().code != ErrorCode::not_found && !is_no_image(image.error()))
    return std::move(image).error();
  log(images_.log, LogLevel::error, "imported cubin skipped: " + image.error().to_line());
  return std::optional<Cubin>();
}

}  // namespace cubinet
