// SPDX-License-Identifier: Apache-2.0
#include "local/index_schema.hpp"

#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

struct SchemaFixture {
  TempDir folder;
  sqlite::Database database = *sqlite::Database::open(folder / "f", sqlite::Database::Mode::read_write);

  ErrorCode code() {
    const auto schema = inspect_schema(database);
    REQUIRE_FALSE(schema.has_value());
    return schema.error().code;
  }
};

TEST_CASE("what is empty, what is ours and what belongs to another program are told apart") {
  SchemaFixture fixture;
  CHECK(*inspect_schema(fixture.database) == IndexSchema::empty);
  REQUIRE(create_index_schema(fixture.database));
  CHECK(*inspect_schema(fixture.database) == IndexSchema::current);
  SchemaFixture other;
  REQUIRE(other.database.execute("CREATE TABLE t (x)"));
  CHECK(other.code() == ErrorCode::corruption);
}

TEST_CASE("a version that the tables do not vouch for is damage, in either direction") {
  for (const char* change :
       {"PRAGMA user_version = 3", "PRAGMA user_version = 99", "UPDATE schema SET version = 99",
        "UPDATE schema SET checksum = 0", "DROP TABLE schema", "DROP TABLE verified_files"}) {
    CAPTURE(change);
    SchemaFixture fixture;
    REQUIRE(create_index_schema(fixture.database));
    REQUIRE(fixture.database.execute(change));
    CHECK(fixture.code() == ErrorCode::corruption);
  }
}

}  // namespace
}  // namespace cubinet::test
