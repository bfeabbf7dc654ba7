// SPDX-License-Identifier: Apache-2.0
#include "index_schema.hpp"

#include <cubinet/kernel_table/column.hpp>

#include <array>
#include <map>
#include <vector>

namespace cubinet {
namespace {

constexpr int kText = 4;
constexpr int kDigest = 5;
constexpr int kLong = 6;
constexpr int kExtras = 7;

constexpr std::array<IndexTextColumn, 9> kTextColumns = {{
    {"key", "INTEGER", kLong},
    {"implementation", "TEXT", kText},
    {"target", "TEXT", kText},
    {"function_name", "TEXT", kText},
    {"digest", "BLOB", kDigest},
    {"origin", "INTEGER", static_cast<int>(ColumnKind::enumeration)},
    {"version", "INTEGER", kLong},
    {"fingerprint", "BLOB", kDigest},
    {"extras", "BLOB", kExtras},
}};

constexpr const char* kTables = R"(
CREATE TABLE entries (
  id           INTEGER PRIMARY KEY,
  key          INTEGER NOT NULL,
  published_ns INTEGER NOT NULL,
  size         INTEGER NOT NULL,
  template     TEXT NOT NULL,
  target       TEXT NOT NULL,
  fingerprint  BLOB NOT NULL,
  digest       BLOB NOT NULL,
  encoding     BLOB NOT NULL,
  record       BLOB NOT NULL
) STRICT;
CREATE INDEX entries_by_key ON entries (key);
CREATE INDEX entries_by_digest ON entries (digest, size);
CREATE TABLE imports (
  number      INTEGER PRIMARY KEY,
  file_size   INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  folder      TEXT NOT NULL,
  placement   INTEGER NOT NULL,
  rows        INTEGER NOT NULL,
  plain       INTEGER NOT NULL,
  files       INTEGER NOT NULL,
  bytes       INTEGER NOT NULL
) STRICT;
CREATE TABLE plain_kernels (
  id            INTEGER PRIMARY KEY,
  import        INTEGER NOT NULL,
  function_name TEXT NOT NULL,
  shared_bytes  INTEGER NOT NULL,
  threads       INTEGER NOT NULL,
  target        TEXT NOT NULL,
  digest        BLOB NOT NULL,
  checksum      INTEGER NOT NULL
) STRICT;
CREATE INDEX plain_kernels_by_import ON plain_kernels (import);
CREATE TABLE artifact_files (
  id     INTEGER PRIMARY KEY,
  import INTEGER NOT NULL,
  name   TEXT NOT NULL,
  digest BLOB NOT NULL,
  size   INTEGER NOT NULL
) STRICT;
CREATE INDEX artifact_files_by_digest ON artifact_files (digest);
CREATE INDEX artifact_files_by_import ON artifact_files (import);
CREATE TABLE verified_files (
  folder      TEXT NOT NULL,
  name        TEXT NOT NULL,
  size        INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  changed_ns  INTEGER NOT NULL,
  inode       INTEGER NOT NULL,
  digest      BLOB NOT NULL,
  inspection  BLOB NOT NULL,
  checksum    INTEGER NOT NULL,
  PRIMARY KEY (folder, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE kernel_columns (
  name TEXT PRIMARY KEY,
  kind INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)";

// Kernels belong to an entry or to an import; rows of neither do not exist.
std::string kernels_table() {
  std::string sql = "CREATE TABLE kernels (id INTEGER PRIMARY KEY, entry INTEGER, import INTEGER";
  for (const Column& column : kernel_columns())
    sql += ", " + std::string(column.name) + " INTEGER NOT NULL";
  for (const IndexTextColumn& column : kTextColumns)
    sql += ", " + std::string(column.name) + " " + std::string(column.sql_type) + " NOT NULL";
  return sql +
         ", checksum INTEGER NOT NULL) STRICT;"
         "CREATE INDEX kernels_by_entry ON kernels (entry) WHERE entry IS NOT NULL;"
         "CREATE INDEX kernels_by_import ON kernels (import) WHERE import IS NOT NULL;";
}

using Kinds = std::map<std::string, std::int64_t, std::less<>>;

Kinds own_columns() {
  Kinds kinds;
  for (const Column& column : kernel_columns())
    kinds.emplace(column.name, static_cast<std::int64_t>(column.kind));
  for (const IndexTextColumn& column : kTextColumns)
    kinds.emplace(column.name, column.kind);
  return kinds;
}

Result<Kinds> stored_columns(sqlite::Database& database) {
  CUBINET_TRY_ASSIGN(sqlite::Statement query, database.prepare("SELECT name, kind FROM kernel_columns"));
  Kinds kinds;
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, query.step());
    if (!row) return kinds;
    kinds.emplace(query.text(0), query.integer(1));
  }
}

Error newer(const std::string& what) {
  return Error{ErrorCode::unsupported, "the index " + what,
               "use the newer cubinet, or remove index.sqlite: it is made anew from the records"};
}

// The version counts changes of these tables; the columns of kernels speak for themselves.
Result<IndexSchema> compare_columns(sqlite::Database& database) {
  CUBINET_TRY_ASSIGN(const Kinds stored, stored_columns(database));
  const Kinds own = own_columns();
  for (const auto& [name, kind] : stored) {
    const auto known = own.find(name);
    if (known == own.end() || known->second != kind) {
      return newer("has a column '" + name.substr(0, 60) + "' of kernels that this build does not know");
    }
  }
  return stored.size() == own.size() ? IndexSchema::current : IndexSchema::older;
}

Result<void> drop_tables(sqlite::Database& database) {
  std::vector<std::string> names;
  {
    CUBINET_TRY_ASSIGN(sqlite::Statement query,
                       database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT "
                                        "LIKE 'sqlite\\_%' ESCAPE '\\'"));
    while (true) {
      CUBINET_TRY_ASSIGN(const bool row, query.step());
      if (!row) break;
      names.emplace_back(query.text(0));
    }
  }
  for (const std::string& name : names) {
    std::string quoted;
    for (const char c : name)
      quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    CUBINET_TRY(database.execute(("DROP TABLE \"" + quoted + "\"").c_str()));
  }
  return {};
}

}  // namespace

std::span<const IndexTextColumn> index_text_columns() {
  return kTextColumns;
}

std::string index_column_list() {
  std::string list;
  for (const Column& column : kernel_columns())
    list += std::string(column.name) + ", ";
  const char* separator = "";
  for (const IndexTextColumn& column : kTextColumns) {
    list += separator + std::string(column.name);
    separator = ", ";
  }
  return list;
}

Result<IndexSchema> inspect_schema(sqlite::Database& database) {
  CUBINET_TRY_ASSIGN(const std::int64_t tables, database.integer("SELECT count(*) FROM sqlite_schema"));
  CUBINET_TRY_ASSIGN(const std::int64_t application, database.integer("PRAGMA application_id"));
  CUBINET_TRY_ASSIGN(const std::int64_t version, database.integer("PRAGMA user_version"));
  if (tables == 0 && application == 0 && version == 0) return IndexSchema::empty;
  if (application != kIndexApplicationId)
    return Error{ErrorCode::corruption, "the index is another program's database"};
  if (version > kIndexSchemaVersion) {
    return newer("has schema version " + std::to_string(version) + ", this build knows up to " +
                 std::to_string(kIndexSchemaVersion));
  }
  if (version < 1) return Error{ErrorCode::corruption, "the index has no valid schema version"};
  return version < kIndexSchemaVersion ? IndexSchema::older : compare_columns(database);
}

Result<void> create_index_schema(sqlite::Database& database) {
  CUBINET_TRY(drop_tables(database));
  CUBINET_TRY(database.execute(kTables));
  CUBINET_TRY(database.execute(kernels_table().c_str()));
  std::string columns;
  for (const auto& [name, kind] : own_columns())
    columns += "INSERT INTO kernel_columns VALUES ('" + name + "', " + std::to_string(kind) + ");";
  CUBINET_TRY(database.execute(columns.c_str()));
  const std::string marks = "PRAGMA application_id = " + std::to_string(kIndexApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(kIndexSchemaVersion);
  return database.execute(marks.c_str());
}

}  // namespace cubinet
