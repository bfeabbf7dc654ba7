// SPDX-License-Identifier: Apache-2.0
#include "file_store.hpp"

#include <algorithm>
#include <chrono>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecordSuffix = ".record";

std::optional<std::string> entry_name_of(std::string_view file_name) {
  if (file_name.starts_with('.') || !file_name.ends_with(kRecordSuffix)) return std::nullopt;
  file_name.remove_suffix(kRecordSuffix.size());
  if (file_name.size() < 2) return std::nullopt;
  return std::string(file_name);
}

Result<std::vector<std::string>> list_or_nothing(FileSystem& files, const fs::path& folder) {
  auto names = files.list(folder);
  if (!names && names.error().code == ErrorCode::not_found) return std::vector<std::string>();
  return names;
}

Error damaged(const fs::path& path, const std::string& reason) {
  return Error{ErrorCode::corruption, "'" + path.string() + "' is damaged: " + reason};
}

}  // namespace

Result<std::shared_ptr<const Bytes>> FileStore::read_image(const Sha256Digest& digest,
                                                           std::uint64_t size) const {
  const fs::path path = home_.cubin(digest);
  // One that has grown is refused before its bytes are read: they might not fit into memory.
  CUBINET_TRY_ASSIGN(Bytes image, files_->read_own(path, std::min(size, kMaximumImageBytes)));
  if (image.size() != size) {
    return damaged(path,
                   "it holds " + std::to_string(image.size()) + " bytes instead of " + std::to_string(size));
  }
  if (sha256(image) != digest) return damaged(path, "its SHA-256 is not its name");
  return std::make_shared<const Bytes>(std::move(image));
}

Result<void> FileStore::make_folder_for(const fs::path& file) {
  const fs::path folder = file.parent_path();
  CUBINET_TRY_ASSIGN(const auto status, files_->status(folder));
  if (status) return {};
  CUBINET_TRY(files_->create_directories(folder, FileSystem::Mode::shared));
  return files_->sync_directory(folder.parent_path());
}

Result<void> FileStore::write_image(const Sha256Digest& digest, ByteView image) {
  const fs::path path = home_.cubin(digest);
  CUBINET_TRY(make_folder_for(path));
  return write_file_atomically(*files_, path, image);
}

Result<StoredRecord> FileStore::read_record(const std::string& name) const {
  const fs::path path = home_.record(name);
  CUBINET_TRY_ASSIGN(const auto status, files_->status(path));
  if (!status) return Error{ErrorCode::not_found, "there is no '" + path.string() + "'"};
  CUBINET_TRY_ASSIGN(const Bytes bytes, files_->read_own(path, kMaximumRecordBytes));
  auto record = decode_record(bytes);
  if (!record) {
    Error error = std::move(record).error();
    error.message = "'" + path.string() + "': " + error.message;
    return error;
  }
  if (entry_name(record->identity, record->fingerprint) != name) {
    return damaged(path, "it holds the record of another entry");
  }
  return StoredRecord{std::make_shared<const CubinRecord>(*std::move(record)), status->modified_ns};
}

Result<StoredRecord> FileStore::write_record(const std::shared_ptr<const CubinRecord>& record) {
  const fs::path path = home_.record(entry_name(record->identity, record->fingerprint));
  CUBINET_TRY(make_folder_for(path));
  CUBINET_TRY(write_file_atomically(*files_, path, encode_record(*record)));
  CUBINET_TRY_ASSIGN(const auto status, files_->status(path));
  return StoredRecord{record, status ? status->modified_ns : 0};
}

Result<std::vector<StoredRecord>> FileStore::records_of(KernelKey key) const {
  const std::string prefix = key.to_string() + "-";
  CUBINET_TRY_ASSIGN(const auto file_names, list_or_nothing(*files_, home_.record_folder(key)));
  std::vector<StoredRecord> records;
  for (const std::string& file_name : file_names) {
    const auto name = entry_name_of(file_name);
    if (!name || !name->starts_with(prefix)) continue;
    auto record = read_record(*name);
    if (record) {
      records.push_back(*std::move(record));
    } else if (record.error().code != ErrorCode::not_found) {
      log(log_, LogLevel::warning, "record passed over: " + record.error().to_line());
    }
  }
  sort_newest_first(records);
  return records;
}

Result<void> FileStore::for_each_record(const RecordVisitor& visit) const {
  CUBINET_TRY_ASSIGN(const auto paths, files_below(home_.records()));
  for (const fs::path& path : paths) {
    const auto name = entry_name_of(path.filename().string());
    // Outside the folder of its first two digits nobody looks for a record: a stray file.
    if (!name || home_.record(*name) != path) continue;
    auto record = read_record(*name);
    if (!record && record.error().code == ErrorCode::not_found) continue;  // removed since it was listed
    CUBINET_TRY(visit(*name, std::move(record)));
  }
  return {};
}

bool FileStore::set_aside(const fs::path& path, std::string_view reason) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto stamp = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  const fs::path target = home_.quarantine() / (path.filename().string() + "." + std::to_string(stamp));
  if (auto moved = files_->rename(path, target); !moved) {
    if (moved.error().code != ErrorCode::not_found) {
      log(log_, LogLevel::error, "a damaged file stays where it is: " + moved.error().to_line());
    }
    return false;
  }
  log(log_, LogLevel::error,
      "moved '" + path.string() + "' to '" + target.string() + "': " + std::string(reason));
  fs::path note = target;
  note += ".reason";
  // The note is for people; the move is what counts.
  static_cast<void>(write_file_atomically(*files_, note, as_bytes(std::string(reason) + "\n")));
  static_cast<void>(files_->sync_directory(path.parent_path()));
  return true;
}

Result<std::vector<fs::path>> FileStore::files_below(const fs::path& folder) const {
  std::vector<fs::path> paths;
  CUBINET_TRY_ASSIGN(const auto names, list_or_nothing(*files_, folder));
  for (const std::string& name : names) {
    CUBINET_TRY_ASSIGN(const auto status, files_->status(folder / name));
    if (!status) continue;
    if (status->type != FileStatus::Type::directory) {
      paths.push_back(folder / name);
      continue;
    }
    CUBINET_TRY_ASSIGN(const auto inner, list_or_nothing(*files_, folder / name));
    for (const std::string& file : inner)
      paths.push_back(folder / name / file);
  }
  return paths;
}

bool names_nothing(const Error& error) {
  return error.code == ErrorCode::corruption || error.code == ErrorCode::untrusted;
}

void sort_newest_first(std::vector<StoredRecord>& records) {
  std::sort(records.begin(), records.end(), [](const StoredRecord& a, const StoredRecord& b) {
    if (a.published_ns != b.published_ns) return a.published_ns > b.published_ns;
    return a.record->fingerprint < b.record->fingerprint;
  });
}

}  // namespace cubinet
