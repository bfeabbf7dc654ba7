// SPDX-License-Identifier: Apache-2.0
#include "local/index_schema.hpp"

#include <xxhash.h>

#include <string>

namespace cubinet {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE schema (
  version  INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE entries (
  name         TEXT PRIMARY KEY,
  published_ns INTEGER NOT NULL,
  key          INTEGER NOT NULL,
  maker        TEXT NOT NULL,
  kernel       TEXT NOT NULL,
  target       TEXT NOT NULL,
  fingerprint  BLOB NOT NULL,
  digest       BLOB NOT NULL,
  size         INTEGER NOT NULL,
  record       BLOB NOT NULL
) STRICT, WITHOUT ROWID;
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
)";

// Returns the checksum of the text of all tables and their version.
Result<std::int64_t> schema_checksum(sqlite::Database& database, std::int64_t version) {
  CUBINET_TRY_ASSIGN(sqlite::Statement query,
                     database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"));
  std::string text = std::to_string(version);
  while (true) {
    CUBINET_TRY_ASSIGN(const bool row, query.step());
    if (!row) break;
    for (int column = 0; column < 4; ++column) {
      text += '\n';
      text += query.text(column);
    }
    CUBINET_TRY(query.check());
  }
  return static_cast<std::int64_t>(XXH3_64bits(text.data(), text.size()));
}

// Returns whether the version number is confirmed by its checksum. A damaged number must not look
// like a newer version, whose build would have written a checksum.
Result<bool> vouches_for_itself(sqlite::Database& database, std::int64_t version) {
  const auto query = [&](const std::string& sql) -> Result<std::int64_t> {
    auto value = database.integer(sql);
    if (!value && value.error().code == ErrorCode::corruption) return std::int64_t{-1};
    return value;
  };
  CUBINET_TRY_ASSIGN(const std::int64_t stated, query("SELECT version FROM schema"));
  CUBINET_TRY_ASSIGN(const std::int64_t checksum, query("SELECT checksum FROM schema"));
  CUBINET_TRY_ASSIGN(const std::int64_t actual, schema_checksum(database, version));
  return stated == version && checksum == actual;
}

}  // namespace

Result<IndexSchema> inspect_schema(sqlite::Database& database) {
  CUBINET_TRY_ASSIGN(const std::int64_t tables, database.integer("SELECT count(*) FROM sqlite_schema"));
  CUBINET_TRY_ASSIGN(const std::int64_t application, database.integer("PRAGMA application_id"));
  CUBINET_TRY_ASSIGN(const std::int64_t version, database.integer("PRAGMA user_version"));
  if (tables == 0 && application == 0 && version == 0) return IndexSchema::empty;
  if (application != kIndexApplicationId)
    return Error{ErrorCode::corruption, "the index is another program's database"};
  CUBINET_TRY_ASSIGN(const bool sound, vouches_for_itself(database, version));
  if (!sound) return Error{ErrorCode::corruption, "the index has tables that are not of its schema version"};
  if (version <= kIndexSchemaVersion) return IndexSchema::current;
  return Error{ErrorCode::unsupported,
               "the index has schema version " + std::to_string(version) + ", this build knows up to " +
                   std::to_string(kIndexSchemaVersion),
               "use the newer cubinet, or remove index.sqlite: it is made anew from the records"};
}

Result<void> create_index_schema(sqlite::Database& database) {
  CUBINET_TRY(database.execute(kTables));
  CUBINET_TRY_ASSIGN(const std::int64_t checksum, schema_checksum(database, kIndexSchemaVersion));
  const std::string version = std::to_string(kIndexSchemaVersion);
  const std::string marks = "INSERT INTO schema VALUES (" + version + ", " + std::to_string(checksum) +
                            "); PRAGMA application_id = " + std::to_string(kIndexApplicationId) +
                            "; PRAGMA user_version = " + version;
  return database.execute(marks.c_str());
}

}  // namespace cubinet
