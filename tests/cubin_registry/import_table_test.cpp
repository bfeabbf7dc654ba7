// SPDX-License-Identifier: Apache-2.0
#include "import_table.hpp"

#include "cubin_registry/table_fixture.hpp"

namespace cubinet::test {
namespace {

StoredImport stored(const ArtifactFolder& folder, std::uint64_t number) {
  return {{number, 100 + number, 7}, folder.content};
}

TEST_CASE("the rows of an import say what it is, where its images are, and what plain kernels it has") {
  TableFixture fixture;
  ImportTable table;
  REQUIRE(table.prepare(fixture.database));
  const ArtifactFolder first(fixture.folder / "first", 0, 3);
  const ArtifactFolder second(fixture.folder / "second", 1, 2, ArtifactPlacement::copied);
  REQUIRE(table.insert(stored(first, 1)));
  REQUIRE(table.insert(stored(second, 5)));
  const auto listed = *table.list();
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].stamp == ImportStamp{1, 101, 7});
  CHECK(listed[1].summary.folder == second.path);
  CHECK(listed[1].summary.placement == ArtifactPlacement::copied);
  CHECK(listed[0].summary.rows == 2);
  CHECK(listed[0].summary.files == 3);
  const auto places = *table.locate(sha256(artifact_image(1)));
  REQUIRE(places.size() == 2);
  CHECK(places[0].folder == second.path);
  CHECK(places[1].file == first.content.files[1]);
  const auto plain = *table.plain_kernels();
  REQUIRE(plain.size() == 2);
  CHECK(plain[0].kernel == first.content.plain[0]);
  CHECK(plain[1].import == 5);
  REQUIRE(table.erase(5));
  CHECK(table.list()->size() == 1);
  CHECK(table.locate(sha256(artifact_image(1)))->size() == 1);
  REQUIRE(table.clear());
  CHECK(fixture.count("imports") + fixture.count("plain_kernels") + fixture.count("artifact_files") == 0);
}

TEST_CASE("rows with values that nobody writes are corruption") {
  TableFixture fixture;
  ImportTable table;
  REQUIRE(table.prepare(fixture.database));
  const ArtifactFolder folder(fixture.folder / "published", 0, 1);
  REQUIRE(table.insert(stored(folder, 1)));
  REQUIRE(fixture.database.execute("UPDATE imports SET placement = 9"));
  CHECK(table.list().error().code == ErrorCode::corruption);
  CHECK(table.locate(sha256(artifact_image(0))).error().code == ErrorCode::corruption);
}

TEST_CASE("a plain kernel that was changed behind our back is corruption, whichever column it was") {
  TableFixture fixture;
  ImportTable table;
  REQUIRE(table.prepare(fixture.database));
  const ArtifactFolder folder(fixture.folder / "published", 0, 1);
  REQUIRE(table.insert(stored(folder, 1)));
  REQUIRE(table.plain_kernels());
  for (const char* change :
       {"import = 2", "function_name = 'other'", "shared_bytes = shared_bytes + 1", "threads = 64",
        "threads = threads + 4294967296", "target = '9.0'", "target = 'none'", "digest = zeroblob(32)",
        "digest = x'00'", "checksum = checksum + 1"}) {
    CAPTURE(change);
    REQUIRE(fixture.database.execute("SAVEPOINT before"));
    REQUIRE(fixture.database.execute((std::string("UPDATE plain_kernels SET ") + change).c_str()));
    const auto read = table.plain_kernels();
    REQUIRE(!read);
    CHECK(read.error().code == ErrorCode::corruption);
    REQUIRE(fixture.database.execute("ROLLBACK TO before"));
  }
  CHECK(table.plain_kernels());
}

}  // namespace
}  // namespace cubinet::test
