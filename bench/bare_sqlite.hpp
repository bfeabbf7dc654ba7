// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <span>

namespace cubinet::bench {

// A plain SQLite table of kernel rows with one column for each field, the baseline of keeping rows.
class BareSqlite {
 public:
  static Result<BareSqlite> create(const std::filesystem::path& file, std::span<const KernelRow> rows);
  // Returns the seconds for reading every column of every row in its type, without using the
  // values: the minimum for anyone who keeps rows in SQLite. The connection is open already.
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
