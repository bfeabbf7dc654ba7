// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/file_system.hpp>
#include <cubinet/cubin_registry/home.hpp>
#include <cubinet/kernel_table/tuning_table.hpp>
#include <cubinet/session/session_options.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace cubinet {

// Reads a table. If `may_be_missing` is true, a missing file counts as an empty table.
Result<TuningTable> read_tuning_file(FileSystem& files, const std::string& file, bool may_be_missing);

// The destination of measurements: the home, or a file that was named. No row is lost when
// processes merge into one file at the same time.
class TuningPlace {
 public:
  // Opens the file or, if `table_file` is empty, the session's home for writing. Errors are those
  // of reading the table and of Home::open.
  static Result<TuningPlace> open(const SessionOptions& session, const std::string& table_file);

  std::string name() const { return home_ != nullptr ? home_->description().place : file_.string(); }
  Result<void> add(const TuningTable& table) const;
  // Adds a row that was measured just now. It replaces an older measurement even if that one has a
  // later date because a clock was ahead. The date of the row is then moved after it.
  Result<void> add_measured(TuningTable::Row& row) const;

 private:
  TuningPlace() = default;

  std::shared_ptr<FileSystem> files_ = posix_file_system();
  std::shared_ptr<Home> home_;
  std::filesystem::path file_;
};

}  // namespace cubinet
