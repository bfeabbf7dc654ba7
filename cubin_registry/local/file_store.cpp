// SPDX-License-Identifier: Apache-2.0
#include "local/file_store.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

}  // namespace

Result<std::vector<std::string>> FileStore::list_or_nothing(const fs::path& folder) const {
  auto listing = files_->list(folder);
  if (listing) return std::move(listing->names);
  if (listing.error().code == ErrorCode::not_found) return std::vector<std::string>();
  return std::move(listing).error();
}

Result<std::shared_ptr<const Bytes>> FileStore::read_image(const Sha256Digest& digest,
                                                           std::uint64_t size) const {
  if (cubins_ != nullptr) {
    auto image = cubins_->read(HomeLayout::cubin_in_folder(digest), std::min(size, kMaximumImageBytes));
    if (image && image->size() == size && sha256(*image) == digest)
      return std::make_shared<const Bytes>(*std::move(image));
  }
  // A missing image is confirmed by path, because another home may be at the path now.
  const fs::path path = home_.cubin(digest);
  // A file that has grown is refused before its bytes are read, because they might not fit into
  // memory.
  auto image = files_->read(path, std::min(size, kMaximumImageBytes));
  if (image && image->size() != size) {
    return damaged_file(
        path, "it holds " + std::to_string(image->size()) + " bytes instead of " + std::to_string(size));
  }
  return verified_bytes(std::move(image), path, digest);
}

// The path to a new folder is synced after the file that it was created for: journals commit both
// at once, and an earlier sync would cost another commit.
Result<void> FileStore::put(const fs::path& file, const Callback<Result<void>()>& write) {
  const fs::path folder = file.parent_path();
  CUBINET_TRY_ASSIGN(const auto status, files_->status(folder));
  if (!status) CUBINET_TRY(files_->create_directories(folder, FileSystem::Mode::shared));
  CUBINET_TRY(write());
  if (status) return {};
  if (folder.parent_path() != home_.root()) CUBINET_TRY(files_->sync_directory(folder.parent_path()));
  return files_->sync_directory(home_.root());
}

Result<void> FileStore::write_image(const Sha256Digest& digest, ByteView image) {
  const fs::path path = home_.cubin(digest);
  return put(path, [&] { return write_file_atomically(*files_, path, image); });
}

Result<StoredRecord> FileStore::read_record(const std::string& name) const {
  constexpr const char* kRecordRemedy = "call `Home::repair()`, which sets it aside";
  const fs::path path = home_.record(name);
  auto read = files_->read_own(path, kMaximumRecordBytes);
  if (!read) {
    Error error = std::move(read).error();
    if (error.code == ErrorCode::untrusted && error.remedy.empty()) error.remedy = kRecordRemedy;
    return error;
  }
  const OwnFile file = *std::move(read);
  auto record = decode_record(file.content);
  const bool is_damaged = record ? entry_name(record->identity.kernel_hash(), file.content) != name
                                 : record.error().code == ErrorCode::corruption;
  if (is_damaged) {
    Error error =
        damaged_file(path, record ? "it holds the record of another entry" : record.error().message);
    error.remedy = kRecordRemedy;
    return error;
  }
  if (!record) {
    Error error = std::move(record).error();
    error.message = "'" + path.string() + "': " + error.message;
    return error;
  }
  return StoredRecord{std::make_shared<const CubinRecord>(*std::move(record)), file.status.modified_ns, name};
}

Result<StoredRecord> FileStore::write_record(const std::shared_ptr<const CubinRecord>& record) {
  const Bytes encoded = encode_record(*record);
  const std::string name = entry_name(record->identity.kernel_hash(), encoded);
  const fs::path path = home_.record(name);
  CUBINET_TRY(put(path, [&] { return write_file_atomically(*files_, path, encoded); }));
  CUBINET_TRY_ASSIGN(const auto status, files_->status(path));
  return StoredRecord{record, status ? status->modified_ns : 0, name};
}

Result<std::uint64_t> FileStore::remove_records(std::span<const std::string> names) {
  std::uint64_t count = 0;
  std::set<fs::path> folders;
  for (const std::string& name : names) {
    const fs::path path = home_.record(name);
    CUBINET_TRY_ASSIGN(const bool removed, files_->remove(path));
    if (!removed) continue;
    ++count;
    folders.insert(path.parent_path());
  }
  for (const fs::path& folder : folders)
    CUBINET_TRY(files_->sync_directory(folder));
  return count;
}

Result<Listing> FileStore::list_records(std::size_t folder_number) const {
  const fs::path folder = home_.record_folder(folder_number);
  CUBINET_TRY_ASSIGN(Listing listing, files_->list(folder));
  std::vector<std::string> names;
  for (const std::string& file_name : listing.names) {
    if (auto name = HomeLayout::entry_in(folder_number, file_name)) names.push_back(*std::move(name));
  }
  listing.names = std::move(names);
  return listing;
}

Result<void> FileStore::for_each_record(const RecordVisitor& visit) const {
  CUBINET_TRY_ASSIGN(const auto paths, files_below(home_.records()));
  for (const fs::path& path : paths) {
    const auto name = home_.entry_of(path);
    if (!name) continue;  // a stray file
    auto record = read_record(*name);
    if (!record && record.error().code == ErrorCode::not_found) continue;  // removed since it was listed
    CUBINET_TRY(visit(*name, std::move(record)));
  }
  return {};
}

// The note is created first and must be new, so the name is unique even if the clock repeats.
Result<fs::path> FileStore::new_quarantine_name(const fs::path& path, std::string_view reason) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto stamp = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  const fs::path wanted = home_.quarantine() / (path.filename().string() + "." + std::to_string(stamp));
  for (unsigned counter = 0;; ++counter) {
    fs::path target = wanted;
    if (counter != 0) target += "-" + std::to_string(counter);
    fs::path note = target;
    note += ".reason";
    auto file = files_->create(note);
    if (!file && file.error().native == EEXIST) continue;
    if (!file) return std::move(file).error();
    CUBINET_TRY_ASSIGN(const auto taken, files_->status(target));
    if (taken) continue;
    // The note is for people. Only the move matters.
    static_cast<void>((*file)->write(as_bytes(std::string(reason) + "\n")));
    static_cast<void>((*file)->close());
    return target;
  }
}

bool FileStore::set_aside(const fs::path& path, std::string_view reason) {
  const auto target = new_quarantine_name(path, reason);
  auto moved = target ? files_->rename(path, *target) : Result<void>(target.error());
  if (!moved) {
    if (target) static_cast<void>(files_->remove(fs::path(target->native() + ".reason")));
    if (moved.error().native != ENOENT) {  // another process has moved it
      log(log_, LogLevel::error, "a damaged file stays where it is: " + moved.error().to_line());
    }
    return false;
  }
  log(log_, LogLevel::warning,
      "moved '" + path.string() + "' to '" + target->string() + "': " + std::string(reason));
  static_cast<void>(files_->sync_directory(path.parent_path()));
  return true;
}

// Links the file, and removes the second name again if it is not the verified file.
Result<bool> FileStore::try_link(const fs::path& from, const fs::path& to, const Sha256Digest& digest) {
  const fs::path temporary = temporary_path_beside(to);
  if (!files_->link(from, temporary)) return false;
  Result<void> linked = [&]() -> Result<void> {
    CUBINET_TRY(verified_bytes(files_->read(temporary, kMaximumImageBytes), from, digest));
    CUBINET_TRY(files_->rename(temporary, to));
    return files_->sync_directory(to.parent_path());
  }();
  // A rename of one name onto another of the same file leaves both.
  static_cast<void>(files_->remove(temporary));
  if (!linked) return std::move(linked).error();
  return true;
}

Result<void> FileStore::bring_image(const fs::path& from, const Sha256Digest& digest, bool link) {
  const fs::path to = home_.cubin(digest);
  // An existing file must have the size of the link's target. Otherwise it is replaced.
  CUBINET_TRY_ASSIGN(const auto status, files_->status(from));
  const bool sized = status && status->type == FileStatus::Type::regular;
  const auto there = verified_bytes(files_->read(to, sized ? status->size : kMaximumImageBytes), to, digest);
  if (there) return {};
  if (is_no_image(there.error())) set_aside(to, there.error().message);
  return put(to, [&]() -> Result<void> {
    if (link) {
      CUBINET_TRY_ASSIGN(const bool linked, try_link(from, to, digest));
      if (linked) return {};
    }
    CUBINET_TRY_ASSIGN(const auto image,
                       verified_bytes(files_->read(from, kMaximumImageBytes), from, digest));
    return write_file_atomically(*files_, to, *image);
  });
}

Result<std::vector<fs::path>> FileStore::files_below(const fs::path& folder) const {
  std::vector<fs::path> paths;
  auto listing = files_->list(folder);
  if (!listing && listing.error().code == ErrorCode::not_found) return paths;
  if (!listing) return std::move(listing).error();
  for (const std::string& name : listing->names) {
    if (!std::binary_search(listing->folders.begin(), listing->folders.end(), name)) {
      paths.push_back(folder / name);
      continue;
    }
    CUBINET_TRY_ASSIGN(const auto inner, list_or_nothing(folder / name));
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
