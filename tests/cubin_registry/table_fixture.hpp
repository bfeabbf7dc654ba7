// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_registry/artifact_fixture.hpp"
#include "index_schema.hpp"

namespace cubinet::test {

// A database with the index's tables, and nothing in them.
struct TableFixture {
  TempDir folder;
  sqlite::Database database = [this] {
    auto opened = sqlite::Database::open(folder / "index.sqlite", sqlite::Database::Mode::read_write);
    REQUIRE(opened);
    return *std::move(opened);
  }();

  TableFixture() { REQUIRE(create_index_schema(database)); }
  std::int64_t count(const std::string& what) { return *database.integer("SELECT count(*) FROM " + what); }
};

}  // namespace cubinet::test
