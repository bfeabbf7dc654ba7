// SPDX-License-Identifier: Apache-2.0
#include "imported/imported_folder.hpp"

#include "store/record_lists.hpp"

#include <cubinet/kernel_table/row_codec.hpp>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(const Sha256Digest& digest) {
  return as_text(ByteView(digest.bytes));
}

}  // namespace

ImportedFolder::ImportedFolder(FileStore& files, std::uint64_t number, ArtifactImport import)
    : store_(files),
      number_(number),
      import_(std::move(import)),
      description_{StoreKind::imported, import_.folder, false} {
  for (std::size_t i = 0; i < import_.files.size(); ++i)
    files_.emplace(text_of(import_.files[i].digest), i);
  auto rows = std::make_shared<StoredRows>();
  rows->reserve(import_.rows.size());
  records_.reserve(import_.rows.size() + import_.plain.size());
  for (KernelRow& row : import_.rows) {
    row.version = number;
    row.source = import_.folder;
    const PlainKernel kernel{row.function_name, row.shared_bytes, row.threads, row.target, row.digest};
    records_.push_back(record_of(kernel, published_spec(row)));
    rows->push_back({row, records_.back()});
  }
  for (const PlainKernel& kernel : import_.plain) {
    KernelSpec spec{kernel.function_name, {}, KernelMaker::function};
    if (!import_.pin.empty()) spec.set("pin", import_.pin);
    records_.push_back(record_of(kernel, spec));
  }
  for (std::size_t i = 0; i < records_.size(); ++i)
    by_kernel_.emplace(records_[i]->identity.kernel_hash(), i);
  rows_ = std::move(rows);
}

std::shared_ptr<const CubinRecord> ImportedFolder::record_of(const PlainKernel& kernel,
                                                             const KernelSpec& spec) const {
  auto record = std::make_shared<CubinRecord>();
  record->identity = identify(spec, kernel.target);
  record->target = kernel.target;
  record->fingerprint.digest = kernel.digest;
  record->digest = kernel.digest;
  record->size = import_.files[files_.at(text_of(kernel.digest))].size;
  record->origin = CubinOrigin::imported;
  record->version = number_;
  EntryPoint& entry = record->entry_points.emplace_back();
  entry.name = kernel.function_name;
  entry.symbol = kernel.function_name;
  entry.threads = kernel.threads;
  entry.dynamic_shared_bytes = kernel.shared_bytes;
  if (spec.maker == KernelMaker::publisher) record->row = record->identity.kernel().encoding();
  return record;
}

Result<bool> ImportedFolder::available() const {
  if (import_.placement != ArtifactPlacement::in_place) return true;
  CUBINET_TRY_ASSIGN(const auto status, store_.files().status(import_.folder));
  return status && status->type == FileStatus::Type::directory;
}

ImportSummary ImportedFolder::summary() const {
  ImportSummary summary{number_, import_.folder, import_.pin, import_.version, import_.placement};
  summary.rows = import_.rows.size();
  summary.plain = import_.plain.size();
  summary.files = import_.files.size();
  for (const ArtifactFile& file : import_.files)
    summary.bytes += file.size;
  const auto there = available();
  summary.gone = there && !*there;
  return summary;
}

Result<CubinRecords> ImportedFolder::find(const KernelId& kernel) {
  CubinRecords found;
  const auto [begin, end] = by_kernel_.equal_range(kernel.hash());
  for (auto position = begin; position != end; ++position) {
    const auto& record = records_[position->second];
    if (record->identity.is_of(kernel)) found.push_back(record);
  }
  if (found.empty()) return found;
  CUBINET_TRY_ASSIGN(const bool there, available());
  return there ? found : CubinRecords();
}

Result<CubinRecords> ImportedFolder::find_key(KernelKey key) {
  CUBINET_TRY_ASSIGN(const bool there, available());
  return there ? with_key(records_, key) : CubinRecords();
}

Result<CubinRecords> ImportedFolder::find_function(std::string_view symbol) {
  CUBINET_TRY_ASSIGN(const bool there, available());
  return there ? with_function(records_, symbol) : CubinRecords();
}

Result<CubinRecords> ImportedFolder::list() {
  CubinRecords records = records_;
  sort_records(records);
  return records;
}

Result<std::shared_ptr<const Bytes>> ImportedFolder::read(const ArtifactFile& file) const {
  if (import_.placement != ArtifactPlacement::in_place) return store_.read_image(file.digest, file.size);
  const fs::path path = fs::path(import_.folder) / file.name;
  return verified_bytes(store_.files().read(path, std::max<std::uint64_t>(file.size, 1)), path, file.digest);
}

Result<std::optional<Cubin>> ImportedFolder::load(std::shared_ptr<const CubinRecord> record) {
  const auto file = files_.find(text_of(record->digest));
  if (file == files_.end()) return std::optional<Cubin>();
  auto image = read(import_.files[file->second]);
  if (image) return std::optional<Cubin>(Cubin{std::move(record), *std::move(image)});
  if (image.error().code != ErrorCode::not_found && !is_no_image(image.error()))
    return std::move(image).error();
  log(store_.log_sink(), LogLevel::error, "imported cubin passed over: " + image.error().to_line());
  return std::optional<Cubin>();
}

}  // namespace cubinet
