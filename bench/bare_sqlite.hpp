// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <span>

namespace cubinet::bench {

// A table of kernel rows in SQLite, a column for each of theirs, with nothing around it: what keeping rows is
// compared with.
class BareSqlite {
 public:
  static Result<BareSqlite> create(const std::filesystem::path& file, std::span<const KernelRow> rows);
  // Seconds that reading every column of every row takes, each as what it is, and nothing made of them: what
  // nobody who keeps rows in SQLite can do without. The connection is open already.
  Result<double> scan() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  explicit BareSqlite(sqlite3* database) : database_(database) {}
  Error failed(const char* what) const;
  Result<void> execute(const std::string& sql) const;
  Result<void> insert(std::span<const KernelRow> rows) const;

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace cubinet::bench
