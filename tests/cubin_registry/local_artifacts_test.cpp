// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/fault_injection.hpp"
#include "support/skip.hpp"

#include <sqlite3.h>

#include <sys/wait.h>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;
using Access = RegistryOptions::Access;

constexpr ArtifactPlacement kPlacements[] = {ArtifactPlacement::in_place, ArtifactPlacement::linked,
                                             ArtifactPlacement::copied};

TEST_CASE("an import is listed, its rows are in the table and its cubins are served, wherever they are") {
  for (const ArtifactPlacement placement : kPlacements) {
    HomeFixture fixture;
    const ArtifactFolder folder(fixture.folder / "published", 0, 4, placement);
    const auto registry = fixture.open();
    const auto number = folder.publish(*registry);
    REQUIRE_MESSAGE(number.has_value(), number.error().to_line());
    CHECK(*number == 1);
    CHECK(serves(*registry, folder.content, 1));
    CHECK(rows_of(*registry) == sorted(expected_rows(folder.content, 1)));
    const auto stats = *registry->stats();
    CHECK(stats.imports == 1);
    CHECK(stats.imported_rows == 3);
    CHECK(stats.imported_plain == 1);
    CHECK(stats.imported_files == 4);
    CHECK(registry->verify()->findings.empty());
    const auto again = fixture.open(Access::read_only);
    CHECK(serves(*again, folder.content, 1));
  }
}

TEST_CASE("equal content writes nothing and keeps its number, other content is pinned last and replaces") {
  HomeFixture fixture;
  const ArtifactFolder first(fixture.folder / "first", 0, 3);
  const ArtifactFolder second(fixture.folder / "second", 10, 3);
  const auto registry = fixture.open();
  CHECK(*first.publish(*registry) == 1);
  CHECK(*second.publish(*registry) == 2);
  const auto written = fs::last_write_time(fixture.home / "imports" / "1.import");
  CHECK(*first.publish(*registry) == 1);
  CHECK(fs::last_write_time(fixture.home / "imports" / "1.import") == written);
  const ArtifactFolder grown(fixture.folder / "first", 0, 4);
  CHECK(*grown.publish(*registry) == 3);
  CHECK_FALSE(fs::exists(fixture.home / "imports" / "1.import"));
  CHECK(registry->artifacts().list()->size() == 2);
  CHECK(serves(*registry, grown.content, 3));
  CHECK(serves(*registry, second.content, 2));
  CHECK(rows_of(*registry).size() == 5);
}

TEST_CASE("what is removed is gone from the list and the table, and its images where no other names them") {
  TwoImports fixture({0, 3, ArtifactPlacement::copied}, {2, 3, ArtifactPlacement::linked});
  CHECK(*fixture.registry->artifacts().remove(1));
  CHECK_FALSE(*fixture.registry->artifacts().remove(1));
  CHECK_FALSE(*fixture.registry->artifacts().remove(77));
  CHECK(serves(*fixture.registry, fixture.second.content, 2));
  CHECK(rows_of(*fixture.registry) == sorted(expected_rows(fixture.second.content, 2)));
  CHECK_FALSE(*fixture.registry->artifacts().load(sha256(artifact_image(0))));
  CHECK(*fixture.registry->artifacts().remove(2));
  CHECK(fixture.registry->verify()->findings.empty());
  std::size_t images = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fixture.home / "artifacts"))
    images += entry.is_directory() ? 0U : 1U;
  CHECK(images == 0);
  CHECK(fs::exists(fixture.second.path / fixture.second.content.files[0].name));
}

TEST_CASE("kernels are found by name in all imports, the one pinned last first") {
  TwoImports fixture({0, 3}, {2, 3});  // kernel_2 is plain, and then has a row
  const auto found = fixture.registry->artifacts().find_named("kernel_2");
  REQUIRE(found->size() == 2);
  CHECK(found->at(0).digest == sha256(artifact_image(2)));
  CHECK(found->at(0).shared_bytes == 1002);
  CHECK(found->at(0).target == SmTarget{10, 0, TargetKind::family});
  CHECK(fixture.registry->artifacts().find_named("kernel_0")->size() == 1);
  CHECK(fixture.registry->artifacts().find_named("nothing")->empty());
  // Without an index the files say the same.
  const auto files_only = fixture.open(Access::read_only);
  write_file(fixture.home / "index.sqlite", Bytes(9000, std::byte{1}));
  const auto without = fixture.open(Access::read_only);
  CHECK(*without->artifacts().find_named("kernel_2") == *found);
}

TEST_CASE("a kernel whose row in the index is damaged is found by name all the same, as it was imported") {
  const char* changes[] = {
      "UPDATE kernels SET threads = 64",
      "UPDATE kernels SET shared_bytes = 1",
      "UPDATE kernels SET target = '9.0a'",
      "UPDATE kernels SET function_name = 'kernel_9' WHERE function_name = 'kernel_2'",
      "UPDATE kernels SET import = NULL",
      "DELETE FROM kernels WHERE function_name = 'kernel_2'",
      "UPDATE plain_kernels SET threads = 64",
      "UPDATE plain_kernels SET shared_bytes = 1",
      "UPDATE plain_kernels SET target = '9.0a'",
      "UPDATE plain_kernels SET function_name = 'kernel_9'",
      "UPDATE plain_kernels SET import = 3 - import",
      "DELETE FROM plain_kernels WHERE import = 2",
  };
  for (const auto access : {Access::read_only, Access::read_write}) {
    for (const char* change : changes) {
      CAPTURE(change);
      TwoImports fixture({0, 4}, {2, 2});  // in both kernel_2 has a row, and kernel_3 is plain
      fixture.registry.reset();
      const auto row = *fixture.open()->artifacts().find_named("kernel_2");
      const auto plain = *fixture.open()->artifacts().find_named("kernel_3");
      REQUIRE(row.size() == 2);
      REQUIRE(plain.size() == 2);
      sqlite3* connection = nullptr;
      REQUIRE(sqlite3_open((fixture.home / "index.sqlite").c_str(), &connection) == SQLITE_OK);
      CHECK(sqlite3_exec(connection, change, nullptr, nullptr, nullptr) == SQLITE_OK);
      sqlite3_close(connection);
      const auto registry = fixture.open(access);
      CHECK(*registry->artifacts().find_named("kernel_2") == row);
      CHECK(*registry->artifacts().find_named("kernel_3") == plain);
      CHECK(registry->artifacts().find_named("kernel_9")->empty());
    }
  }
}

TEST_CASE("a name that was looked up is looked up again when imports come and go") {
  HomeFixture fixture;
  const ArtifactFolder first(fixture.folder / "first", 0, 2);
  const ArtifactFolder second(fixture.folder / "second", 0, 2);
  const auto registry = fixture.open();
  const auto found = [&] { return registry->artifacts().find_named("kernel_1")->size(); };
  CHECK(found() == 0);
  REQUIRE(first.publish(*registry));
  CHECK(found() == 1);
  REQUIRE(second.publish(*fixture.open()));  // by somebody else
  CHECK(found() == 2);
  REQUIRE(registry->artifacts().remove(1));
  CHECK(found() == 1);
}

TEST_CASE("a damaged or missing file is never served, and another import of it is asked") {
  HomeFixture fixture;
  const ArtifactFolder first(fixture.folder / "first", 0, 2);
  const ArtifactFolder second(fixture.folder / "second", 0, 2, ArtifactPlacement::copied);
  const auto registry = fixture.open();
  REQUIRE(second.publish(*registry));
  REQUIRE(first.publish(*registry));
  const Sha256Digest digest = sha256(artifact_image(0));
  Bytes damaged = artifact_image(0);
  damaged[40] ^= std::byte{1};
  write_file(first.path / "sub/kernel_0.cubin", damaged);
  const auto from_second = registry->artifacts().load(digest);
  REQUIRE(*from_second);
  CHECK(***from_second == artifact_image(0));
  CHECK(fixture.log.count("imported cubin passed over") == 1);
  REQUIRE(registry->artifacts().remove(1));
  CHECK_FALSE(*registry->artifacts().load(digest));
  fs::remove(first.path / "sub/kernel_0.cubin");
  fs::create_directory(first.path / "sub/kernel_0.cubin");
  CHECK_FALSE(*registry->artifacts().load(digest));
  const auto report = *registry->verify();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].file == first.path / "sub/kernel_0.cubin");
}

TEST_CASE("only verified bytes are brought in, and a damaged image is replaced") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 1, ArtifactPlacement::linked);
  const auto registry = fixture.open();
  const fs::path file = folder.path / folder.content.files[0].name;
  const Sha256Digest digest = folder.content.files[0].digest;
  for (const ArtifactPlacement how : {ArtifactPlacement::linked, ArtifactPlacement::copied}) {
    const auto refused = registry->artifacts().bring(file, sha256(as_bytes("other")), how);
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::corruption);
  }
  CHECK_FALSE(registry->artifacts().bring(file, digest, ArtifactPlacement::in_place));
  CHECK_FALSE(registry->artifacts().publish(folder.content));  // not brought yet
  REQUIRE(registry->artifacts().bring(file, digest, ArtifactPlacement::linked));
  const fs::path image = fixture.only_file("artifacts");
  CHECK(fs::equivalent(image, file));
  fs::remove(image);
  write_file(image, as_bytes("damaged"));
  REQUIRE(registry->artifacts().bring(file, digest, ArtifactPlacement::copied));
  CHECK(read_file(image) == artifact_image(0));
  CHECK_FALSE(fs::equivalent(image, file));
  CHECK(registry->stats()->quarantined == 1);
  REQUIRE(registry->artifacts().publish(folder.content));
  CHECK(serves(*registry, folder.content, 1));
}

TEST_CASE("the largest number of an import is the last, and a larger name is no import") {
  TwoImports fixture;
  const fs::path imports = fixture.home / "imports";
  fs::rename(imports / "2.import", imports / "18446744073709551615.import");
  CHECK(fixture.registry->artifacts().list()->size() == 1);
  CHECK(*fixture.second.publish(*fixture.registry) == 2);
  fs::remove(imports / "18446744073709551615.import");
  fs::rename(imports / "2.import", imports / "9223372036854775807.import");
  CHECK(serves(*fixture.registry, fixture.second.content, 9223372036854775807U));
  const ArtifactFolder third(fixture.folder / "third", 20, 2);
  const auto refused = third.publish(*fixture.registry);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("9223372036854775807.import") != std::string::npos);
  CHECK(serves(*fixture.registry, fixture.first.content, 1));
  CHECK(*fixture.registry->artifacts().remove(9223372036854775807U));
  CHECK(*third.publish(*fixture.registry) == 2);
}

TEST_CASE("what was verified is remembered, by folder and name") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  VerifiedFile file{"a.cubin", 10, 20, 30, 40, sha256(as_bytes("a")), {}};
  file.inspection.capability = {10, 3};
  file.inspection.kind = TargetKind::specific;
  file.inspection.kernels = {"one", "two"};
  VerifiedFile other = file;
  other.name = "b.cubin";
  other.inspection.kind.reset();
  other.inspection.excludes_specific = true;
  REQUIRE(registry->artifacts().remember("/published", std::vector{other, file}));
  file.size = 11;
  REQUIRE(registry->artifacts().remember("/published", std::vector{file}));
  const auto known = *fixture.open()->artifacts().verified("/published");
  REQUIRE(known.size() == 2);
  CHECK(known[0].name == "a.cubin");
  CHECK(known[0].size == 11);
  CHECK(known[0].inspection.kernels == file.inspection.kernels);
  CHECK(known[0].inspection.kind == TargetKind::specific);
  CHECK(known[1].changed_ns == 30);
  CHECK_FALSE(known[1].inspection.kind);
  CHECK(known[1].inspection.excludes_specific);
  CHECK(registry->artifacts().verified("/elsewhere")->empty());
}

TEST_CASE("an index that was locked, lost or made by somebody else hides no row") {
  HomeFixture fixture;
  const ArtifactFolder first(fixture.folder / "first", 0, 3);
  const ArtifactFolder second(fixture.folder / "second", 10, 3);
  const auto registry = fixture.open();
  REQUIRE(first.publish(*registry));
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open((fixture.home / "index.sqlite").c_str(), &connection) == SQLITE_OK);
  REQUIRE(sqlite3_exec(connection, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  CHECK(serves(*registry, first.content, 1));
  REQUIRE(second.publish(*registry));
  CHECK(rows_of(*registry).size() == 4);
  CHECK(serves(*registry, second.content, 2));
  REQUIRE(sqlite3_exec(connection, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(connection);
  // The row that could not be written then is written now.
  const auto later = fixture.open();
  CHECK(serves(*later, second.content, 2));
  CHECK(later->verify()->findings.empty());
  fs::remove(fixture.home / "index.sqlite");
  CHECK(rows_of(*fixture.open()).size() == 4);
  CHECK(*fixture.open()->rebuild() == 0);
  CHECK(rows_of(*fixture.open()).size() == 4);
}

TEST_CASE("a home that cannot be written serves its imports and refuses to change them") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 3, ArtifactPlacement::copied);
  REQUIRE(folder.publish(*fixture.open()));
  const auto registry = fixture.open(Access::read_only);
  CHECK(serves(*registry, folder.content, 1));
  CHECK(registry->artifacts().publish(folder.content).error().code == ErrorCode::unavailable);
  CHECK(registry->artifacts().remove(1).error().code == ErrorCode::unavailable);
  CHECK_FALSE(registry->artifacts().remember("/folder", std::vector<VerifiedFile>(1)));
  CHECK_FALSE(registry->artifacts().bring("/file", Sha256Digest{}, ArtifactPlacement::copied));
}

TEST_CASE("an import that could not be read back is refused, by name") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  const ArtifactFolder folder(fixture.folder / "published", 0, 3);
  ArtifactImport changed = folder.content;
  changed.folder = "relative";
  CHECK(registry->artifacts().publish(changed).error().code == ErrorCode::invalid_argument);
  for (const char* name : {"../up", "/absolute", "a//b", "a/./b", "", "a/.."}) {
    changed = folder.content;
    changed.files[0].name = name;
    CHECK_FALSE(registry->artifacts().publish(changed));
  }
  changed = folder.content;
  changed.rows[0].digest = sha256(as_bytes("unknown"));
  const auto refused = registry->artifacts().publish(changed);
  REQUIRE(!refused);
  CHECK(refused.error().message.find("kernel_0") != std::string::npos);
  changed = folder.content;
  changed.rows[0].selector.head_dim_v = 129;
  CHECK_FALSE(registry->artifacts().publish(changed));
  CHECK(registry->artifacts().list()->empty());
}

TEST_CASE("publishers in two processes take turns, and every folder is there afterwards") {
  if (!can_fork()) return skip("forks");
  HomeFixture fixture;
  REQUIRE(fixture.open());
  constexpr int kEach = 6;
  const auto publish_all = [&](int side) {
    const auto registry = Registry::open(fixture.options());
    if (!registry) return 1;
    for (int i = 0; i < kEach; ++i) {
      const ArtifactFolder folder(fixture.folder / ("side" + std::to_string(side) + std::to_string(i)),
                                  10 * side + i, 3);
      if (!folder.publish(**registry)) return 2;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int side = 1; side <= 2; ++side) {
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(publish_all(side));
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const auto registry = fixture.open();
  const auto listed = *registry->artifacts().list();
  REQUIRE(listed.size() == 2 * kEach);
  for (std::size_t i = 1; i < listed.size(); ++i)
    CHECK(listed[i].number > listed[i - 1].number);
  CHECK(rows_of(*registry).size() == 4 * kEach);
  CHECK(registry->verify()->findings.empty());
}

}  // namespace
}  // namespace cubinet::test
