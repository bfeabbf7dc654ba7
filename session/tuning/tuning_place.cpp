// SPDX-License-Identifier: Apache-2.0
#include "tuning/tuning_place.hpp"

#include <cubinet/base/file_lock.hpp>
#include <cubinet/base/stopwatch.hpp>
#include <cubinet/session/open_stores.hpp>

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

// A lock that is held while a table is read, merged and replaced. It holds nothing if the file
// system has no locks.
class TableLock {
 public:
  TableLock(FileSystem& files, fs::path path, std::unique_ptr<FileLock> lock)
      : files_(files), path_(std::move(path)), lock_(std::move(lock)) {}
  TableLock(TableLock&&) = default;
  ~TableLock() {
    if (lock_ != nullptr) (void)files_.remove(path_);
  }

 private:
  FileSystem& files_;
  fs::path path_;
  std::unique_ptr<FileLock> lock_;
};

Result<TableLock> lock_beside(FileSystem& files, const fs::path& file) {
  constexpr double kPatience = 10;  // seconds; a merge takes milliseconds
  const fs::path path = file.parent_path() / ("." + file.filename().string() + ".lock");
  for (const Stopwatch waited; waited.seconds() < kPatience;) {
    auto lock = files.lock(path);
    if (!lock && knows_no_locks(lock.error())) return TableLock(files, path, nullptr);
    if (!lock) return lock.error();
    if (*lock != nullptr) return TableLock(files, path, *std::move(lock));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Error{ErrorCode::busy, "'" + file.string() + "' is being written by another process", "try again"};
}

}  // namespace

Result<TuningTable> read_tuning_file(FileSystem& files, const std::string& file, bool may_be_missing) {
  const auto bytes = files.read(file, kMaximumTuningBytes);
  if (!bytes && may_be_missing && bytes.error().code == ErrorCode::not_found) return TuningTable();
  if (!bytes) {
    Error error = bytes.error();
    if (error.remedy.empty()) error.remedy = "name a table that was written with `TuneOptions::table_file`";
    return error;
  }
  auto table = TuningTable::decode(*bytes);
  if (table) return table;
  Error error = std::move(table).error();
  error.message = "'" + file + "': " + error.message;
  return error;
}

Result<TuningPlace> TuningPlace::open(const SessionOptions& session, const std::string& table_file) {
  TuningPlace place;
  if (table_file.empty()) {
    CUBINET_TRY_ASSIGN(place.home_, open_home(session, HomeOptions::Access::read_write));
    return place;
  }
  place.file_ = table_file;
  CUBINET_TRY(read_tuning_file(*place.files_, table_file, true));
  return place;
}

Result<void> TuningPlace::add(const TuningTable& table) const {
  if (home_ != nullptr) return home_->add_tuning(table);
  CUBINET_TRY_ASSIGN(const auto alone, lock_beside(*files_, file_));
  CUBINET_TRY_ASSIGN(TuningTable merged, read_tuning_file(*files_, file_.string(), true));
  merged.merge(table);
  const Bytes bytes = merged.encode();
  if (bytes.size() > kMaximumTuningBytes) {
    return Error{ErrorCode::unavailable,
                 fmt::format("'{}' would have {} bytes, and {} are allowed", file_.string(), bytes.size(),
                             kMaximumTuningBytes),
                 "name another file, and measure only problems that are used"};
  }
  return write_file_atomically(*files_, file_, bytes);
}

Result<void> TuningPlace::add_measured(TuningTable::Row& row) const {
  const auto held = home_ != nullptr ? home_->tuning() : read_tuning_file(*files_, file_.string(), true);
  const TuningTable::Row* const before = held ? held->find(row) : nullptr;
  if (before != nullptr) TuningTable::date_after(row, *before);
  TuningTable measured;
  measured.add(row);
  return add(measured);
}

}  // namespace cubinet
