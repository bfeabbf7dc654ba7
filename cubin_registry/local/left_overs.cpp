// SPDX-License-Identifier: Apache-2.0
#include "local/left_overs.hpp"

#include "local/local_imports.hpp"

#include <cerrno>
#include <chrono>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeftOverAfterNs = std::int64_t{3'600} * 1'000'000'000;

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

bool is_left_over(const FileStatus& status) {
  return now_ns() - status.modified_ns > kLeftOverAfterNs;
}

bool is_interrupted_write(const fs::path& path) {
  // SQLite names a journal after its database.
  constexpr std::string_view kJournal = "-journal";
  std::string name = path.filename().string();
  if (name.ends_with(kJournal)) name.resize(name.size() - kJournal.size());
  return is_temporary_path(name);
}

Result<std::vector<fs::path>> temporaries_beside_index(const FileStore& store) {
  std::vector<fs::path> paths;
  // The home's folder may contain unrelated files.
  for (const fs::path& file : {store.home().index(), store.home().limit(), store.home().uses(),
                               store.home().tuning(), store.home().journal()}) {
    const std::string prefix = "." + file.filename().string() + ".";
    CUBINET_TRY_ASSIGN(const auto names, store.list_or_nothing(file.parent_path()));
    for (const std::string& name : names) {
      if (name.starts_with(prefix) && is_interrupted_write(name)) paths.push_back(file.parent_path() / name);
    }
  }
  return paths;
}

Result<void> FileSweep::remove(const fs::path& path, std::uint64_t bytes) {
  if (!only_counts()) {
    const auto removed = store_.files().remove(path);
    if (!removed && removed.error().native == EISDIR) {
      leave_folder(path);
      return {};
    }
    if (!removed) return removed.error();
    if (!*removed) return {};
  }
  ++report.files;
  report.bytes += bytes;
  return {};
}

void FileSweep::leave_folder(const fs::path& path) const {
  log(store_.log_sink(), LogLevel::warning,
      "'" + path.string() + "' stays: it is a folder in the place of a file of the home");
}

Result<bool> add_images_of_records(const FileStore& store, std::set<Sha256Digest>& named) {
  bool complete = true;
  CUBINET_TRY(store.for_each_record([&](const std::string&, Result<StoredRecord> record) -> Result<void> {
    if (record) named.insert(record->record->digest);
    if (!record && !names_nothing(record.error())) complete = false;  // it may name any image
    return {};
  }));
  return complete;
}

Result<void> remove_unnamed_images(FileSweep& sweep, LocalImports& imports,
                                   const std::set<Sha256Digest>& candidates,
                                   const std::set<Sha256Digest>* named, bool only_old) {
  if (candidates.empty()) return {};
  FileStore& store = sweep.store();
  const auto alone =
      sweep.only_counts() ? std::optional<std::unique_ptr<FileLock>>(nullptr) : imports.lock_out_bringers();
  if (!alone) return {};
  std::set<Sha256Digest> by_imports;
  CUBINET_TRY_ASSIGN(const bool complete, imports.add_named_images(by_imports));
  if (!complete || named == nullptr) {
    log(store.log_sink(), LogLevel::warning,
        "no image is removed while there are records or imports that cannot be read");
    return {};
  }
  for (const Sha256Digest& digest : candidates) {
    if (named->count(digest) != 0 || by_imports.count(digest) != 0) continue;
    const fs::path path = store.home().cubin(digest);
    CUBINET_TRY_ASSIGN(const auto status, store.files().status(path));
    if (!status || (only_old && !is_left_over(*status))) continue;
    // The bytes of a file with another name are not freed.
    CUBINET_TRY(sweep.remove(path, status->links <= 1 ? status->size : 0));
  }
  return {};
}

Result<void> remove_left_overs(FileSweep& sweep, const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    if (!is_interrupted_write(path)) continue;
    CUBINET_TRY_ASSIGN(const auto status, sweep.store().files().status(path));
    if (!status || !is_left_over(*status)) continue;
    CUBINET_TRY(sweep.remove(path, status->size));
  }
  return {};
}

}  // namespace cubinet
