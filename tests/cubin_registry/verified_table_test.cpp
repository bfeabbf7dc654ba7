// SPDX-License-Identifier: Apache-2.0
#include "local/verified_table.hpp"

#include "local/index_schema.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

TEST_CASE("a row that does not match its checksum is forgotten, the others are not") {
  TempDir folder;
  auto database = *sqlite::Database::open(folder / "f", sqlite::Database::Mode::read_write);
  REQUIRE(create_index_schema(database));
  VerifiedTable table;
  REQUIRE(table.prepare(database));
  std::vector<VerifiedFile> files;
  for (const char* name : {"a", "b", "c"})
    files.push_back(
        {name, 1, 2, 3, 4, sha256(as_bytes(name)), {{9, 0}, TargetKind::specific, false, {"k"}, {1280}}});
  REQUIRE(table.put("/folder", files));
  REQUIRE(table.put("/other", std::span(files).first(1)));
  CHECK(table.list("/folder")->size() == 3);
  for (const char* change :
       {"size = size + 1", "modified_ns = 0", "changed_ns = 9", "inode = 77", "name = 'z'",
        "digest = zeroblob(32)", "digest = x'00'", "inspection = x'00'", "checksum = 1"}) {
    CAPTURE(change);
    REQUIRE(database.execute("SAVEPOINT before"));
    REQUIRE(database.execute(
        ("UPDATE verified_files SET " + std::string(change) + " WHERE folder = '/folder' AND name = 'b'")
            .c_str()));
    const auto left = *table.list("/folder");
    REQUIRE(left.size() == 2);
    CHECK(left[0].name == "a");
    CHECK(left[1].name == "c");
    CHECK(left[1].inspection.kernels == std::vector<std::string>{"k"});
    CHECK(left[1].inspection.argument_bytes == std::vector<std::uint32_t>{1280});
    REQUIRE(database.execute("ROLLBACK TO before"));
  }
}

}  // namespace
}  // namespace cubinet::test
