// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <xxhash.h>

#include <string>

namespace cubinet::test {

// Makes an index what a later build would: of schema version 99, with a column more, and a checksum
// that says so.
inline void make_newer_schema(sqlite3* connection) {
  const auto execute = [&](const std::string& sql) {
    REQUIRE(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  };
  execute("ALTER TABLE entries RENAME COLUMN record TO content");
  std::string text = "99";
  const auto add_row = [](void* to, int columns, char** values, char**) {
    for (int column = 0; column < columns; ++column)
      static_cast<std::string*>(to)->append("\n").append(values[column] != nullptr ? values[column] : "");
    return 0;
  };
  REQUIRE(sqlite3_exec(connection, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name",
                       add_row, &text, nullptr) == SQLITE_OK);
  const auto checksum = static_cast<sqlite3_int64>(XXH3_64bits(text.data(), text.size()));
  execute("UPDATE schema SET version = 99, checksum = " + std::to_string(checksum));
  execute("PRAGMA user_version = 99");
}

}  // namespace cubinet::test
