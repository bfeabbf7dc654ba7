// SPDX-License-Identifier: Apache-2.0
#include "index_schema.hpp"

#include "cubin_registry/table_fixture.hpp"

#include <cubinet/kernel_table/column.hpp>

namespace cubinet::test {
namespace {

TEST_CASE("the index says of its table of kernels which columns it has") {
  TableFixture fixture;
  CHECK(*inspect_schema(fixture.database) == IndexSchema::current);
  CHECK(fixture.count("kernel_columns") ==
        static_cast<std::int64_t>(kernel_columns().size() + index_text_columns().size()));
  // The columns that are there and those that are described are the same.
  CHECK(*fixture.database.integer("SELECT count(*) FROM kernel_columns WHERE name NOT IN (SELECT name FROM "
                                  "pragma_table_info('kernels'))") == 0);
  CHECK(fixture.count("pragma_table_info('kernels')") == fixture.count("kernel_columns") + 4);
  CHECK(*fixture.database.integer("SELECT kind FROM kernel_columns WHERE name = 'two_cta'") == 1);
  CHECK(*fixture.database.integer("SELECT kind FROM kernel_columns WHERE name = 'digest'") == 5);
}

TEST_CASE("an older schema, or fewer columns, is made anew and a newer one is refused") {
  TableFixture fixture;
  REQUIRE(fixture.database.execute("CREATE TABLE \"odd \"\" name\" (x); PRAGMA user_version = 1"));
  CHECK(*inspect_schema(fixture.database) == IndexSchema::older);
  REQUIRE(create_index_schema(fixture.database));
  CHECK(*inspect_schema(fixture.database) == IndexSchema::current);
  CHECK(*fixture.database.integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'odd%'") == 0);
  REQUIRE(fixture.database.execute("DELETE FROM kernel_columns WHERE name = 'stages'"));
  CHECK(*inspect_schema(fixture.database) == IndexSchema::older);
  REQUIRE(fixture.database.execute("INSERT INTO kernel_columns VALUES ('from_the_future', 0)"));
  CHECK(inspect_schema(fixture.database).error().code == ErrorCode::unsupported);
  REQUIRE(create_index_schema(fixture.database));
  REQUIRE(fixture.database.execute("UPDATE kernel_columns SET kind = 2 WHERE name = 'stages'"));
  CHECK(inspect_schema(fixture.database).error().code == ErrorCode::unsupported);
  REQUIRE(fixture.database.execute("PRAGMA user_version = 3"));
  CHECK(inspect_schema(fixture.database).error().message.find("version 3") != std::string::npos);
}

TEST_CASE("what is empty and what belongs to another program are told apart") {
  TempDir folder;
  auto database = *sqlite::Database::open(folder / "f", sqlite::Database::Mode::read_write);
  CHECK(*inspect_schema(database) == IndexSchema::empty);
  REQUIRE(database.execute("CREATE TABLE t (x)"));
  CHECK(inspect_schema(database).error().code == ErrorCode::corruption);
}

}  // namespace
}  // namespace cubinet::test
