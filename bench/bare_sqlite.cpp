// SPDX-License-Identifier: Apache-2.0
#include "bare_sqlite.hpp"

#include "rounds.hpp"

#include <cubinet/kernel_table/column.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet::bench {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr);
  return Statement(statement);
}

void bind_text(sqlite3_stmt* statement, int column, const std::string& text) {
  sqlite3_bind_text(statement, column, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

}  // namespace

Error BareSqlite::failed(const char* what) const {
  return Error{ErrorCode::internal, std::string(what) + ": " + sqlite3_errmsg(database_.get())};
}

Result<void> BareSqlite::execute(const std::string& sql) const {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failed("the table cannot be written");
}

Result<BareSqlite> BareSqlite::create(const std::filesystem::path& file, std::span<const KernelRow> rows) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open(file.c_str(), &opened);
  BareSqlite table(opened);
  if (status != SQLITE_OK) return table.failed("the table cannot be made");
  std::string columns;
  for (const Column& column : kernel_columns())
    columns += std::string(column.name) + " INTEGER, ";
  columns += "implementation TEXT, target TEXT, function_name TEXT, digest BLOB";
  CUBINET_TRY(table.execute("CREATE TABLE kernels (" + columns + "); BEGIN"));
  CUBINET_TRY(table.insert(rows));
  CUBINET_TRY(table.execute("COMMIT"));
  return table;
}

Result<void> BareSqlite::insert(std::span<const KernelRow> rows) const {
  constexpr std::size_t kTexts = 4;
  std::string sql = "INSERT INTO kernels VALUES (?";
  for (std::size_t i = 1; i < kernel_columns().size() + kTexts; ++i)
    sql += ", ?";
  const Statement statement = prepare(database_.get(), sql + ")");
  if (statement == nullptr) return failed("the table cannot be written");
  for (const KernelRow& row : rows) {
    int number = 0;
    for (const Column& column : kernel_columns())
      sqlite3_bind_int64(statement.get(), ++number, column.get(row));
    for (const std::string& text : {row.implementation, row.target.to_string(), row.function_name})
      bind_text(statement.get(), ++number, text);
    sqlite3_bind_blob(statement.get(), ++number, row.digest.bytes.data(), sizeof(row.digest.bytes),
                      SQLITE_TRANSIENT);
    if (sqlite3_step(statement.get()) != SQLITE_DONE) return failed("a row cannot be written");
    sqlite3_reset(statement.get());
  }
  return {};
}

Result<double> BareSqlite::scan() const {
  const double start = now_seconds();
  const Statement statement = prepare(database_.get(), "SELECT * FROM kernels");
  if (statement == nullptr) return failed("the table cannot be read");
  // The types of the first row. Querying them for each row would make the scan slower than
  // necessary.
  std::vector<bool> integers;
  std::uint64_t sum = 0;
  while (sqlite3_step(statement.get()) == SQLITE_ROW) {
    const bool first = integers.empty();
    for (int column = 0; first && column < sqlite3_column_count(statement.get()); ++column)
      integers.push_back(sqlite3_column_type(statement.get(), column) == SQLITE_INTEGER);
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const int column = static_cast<int>(i);
      if (integers[i]) {
        sum += static_cast<std::uint64_t>(sqlite3_column_int64(statement.get(), column));
        continue;
      }
      const void* bytes = sqlite3_column_blob(statement.get(), column);
      const int size = sqlite3_column_bytes(statement.get(), column);
      if (size > 0) sum += static_cast<const unsigned char*>(bytes)[size - 1];
    }
  }
  const double seconds = now_seconds() - start;
  if (sum == 0) return Error{ErrorCode::internal, "the scan read nothing"};
  return seconds;
}

}  // namespace cubinet::bench
