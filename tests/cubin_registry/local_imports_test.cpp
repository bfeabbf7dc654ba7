// SPDX-License-Identifier: Apache-2.0
#include "local/local_imports.hpp"

#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/fault_injection.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <cubinet/cubin_registry/imports.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <sys/wait.h>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;
using Access = HomeOptions::Access;

constexpr ArtifactPlacement kEveryPlacement[] = {ArtifactPlacement::in_place, ArtifactPlacement::linked,
                                                 ArtifactPlacement::copied};

TEST_CASE("an import is listed, its rows are in the table and its cubins are served, wherever they are") {
  for (const ArtifactPlacement placement : kEveryPlacement) {
    HomeFixture fixture;
    const ArtifactFolder folder(fixture.folder / "published", 0, 4, placement);
    const auto registry = fixture.open();
    const auto number = folder.publish(*registry);
    REQUIRE_MESSAGE(number.has_value(), why_not(number));
    CHECK(*number == 1);
    CHECK(serves(*registry, folder.content, 1));
    CHECK(rows_of(*registry) == sorted(expected_rows(folder.content, 1)));
    const auto imports = *registry->imports().list();
    REQUIRE(imports.size() == 1);
    CHECK(imports[0].rows == 3);
    CHECK(imports[0].plain == 1);
    CHECK(imports[0].files == 4);
    CHECK(imports[0].pin == folder.content.pin);
    CHECK_FALSE(imports[0].gone);
    CHECK(registry->stats()->entries == 0);
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
  CHECK(registry->imports().list()->size() == 2);
  CHECK(serves(*registry, grown.content, 3));
  CHECK(serves(*registry, second.content, 2));
  CHECK(rows_of(*registry).size() == 5);
}

TEST_CASE("what is removed is gone from the list and the table, and its images where no other names them") {
  TwoImports fixture({0, 3, ArtifactPlacement::copied}, {2, 3, ArtifactPlacement::linked});
  CHECK(*fixture.registry->imports().remove(1));
  CHECK_FALSE(*fixture.registry->imports().remove(1));
  CHECK_FALSE(*fixture.registry->imports().remove(77));
  CHECK(serves(*fixture.registry, fixture.second.content, 2));
  CHECK(rows_of(*fixture.registry) == sorted(expected_rows(fixture.second.content, 2)));
  CHECK_FALSE(serves(*fixture.registry, "kernel_0", sha256(artifact_image(0))));
  CHECK(*fixture.registry->imports().remove(2));
  CHECK(fixture.registry->verify()->findings.empty());
  std::size_t images = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fixture.home / "cubins"))
    images += entry.is_directory() ? 0U : 1U;
  CHECK(images == 0);
  CHECK(fs::exists(fixture.second.path / fixture.second.content.files[0].name));
}

// Two imports of one folder, as a publish leaves them that was ended before it removed the first:
// number 1, which 2 hides.
struct LeftImports : HomeFixture {
  ArtifactFolder older{folder / "published", 0, 2, ArtifactPlacement::copied};
  ArtifactFolder newer{folder / "published", 0, 3, ArtifactPlacement::copied};
  std::shared_ptr<Home> registry = open();

  LeftImports() {
    REQUIRE(*older.publish(*registry) == 1);
    fs::copy_file(file(1), folder / "kept");
    REQUIRE(*newer.publish(*registry) == 2);
    fs::rename(folder / "kept", file(1));
    REQUIRE(registry->imports().list()->size() == 1);
  }
  fs::path file(int number) const { return home / "imports" / (std::to_string(number) + ".import"); }
};

TEST_CASE("an import that is removed takes along those of its folder that it hid") {
  LeftImports fixture;
  CHECK(*fixture.registry->imports().remove(2));
  CHECK(fixture.registry->imports().list()->empty());
  CHECK(fixture.open()->imports().list()->empty());
  CHECK(rows_of(*fixture.registry).empty());
  CHECK(fixture.registry->verify()->findings.empty());
}

TEST_CASE("an import that is hidden is removed alone, and goes with the next publish of its folder") {
  LeftImports fixture;
  CHECK(*fixture.registry->imports().remove(1));
  CHECK(serves(*fixture.registry, fixture.newer.content, 2));
  for (const bool same : {true, false}) {
    LeftImports again;
    const ArtifactFolder next(again.folder / "published", 0, same ? 3 : 4, ArtifactPlacement::copied);
    const auto number = next.publish(*again.registry);
    CHECK(*number == (same ? 2U : 3U));
    CHECK_FALSE(fs::exists(again.file(1)));
    CHECK(fs::exists(again.file(2)) == same);
    CHECK(*again.registry->imports().remove(*number));
    CHECK(again.registry->imports().list()->empty());
  }
}

TEST_CASE("kernels are found by name, kernel and key in all imports, without an index as with one") {
  TwoImports fixture({0, 3}, {2, 3});  // kernel_2 is plain, and then has a row
  write_file(fixture.home / "index.sqlite", Bytes(9000, std::byte{1}));
  for (const auto access : {Access::read_write, Access::read_only}) {
    const auto registry = fixture.open(access);
    const auto found = *registry->find_function("kernel_2");
    REQUIRE(found.size() == 2);
    for (const auto& record : found) {
      CHECK(record->origin == CubinOrigin::imported);
      CHECK(record->digest == sha256(artifact_image(2)));
      CHECK(record->entry_points.front().dynamic_shared_bytes == 1002);
      CHECK(record->target == SmTarget{10, 0, TargetKind::family});
      CHECK(record->row.empty() == (record->version == 1));
      CHECK(registry->find(record->identity.kernel())->size() == 1);
      CHECK(registry->find_key(record->identity.key())->size() == 1);
      CHECK(registry->place_of(*record) ==
            (record->version == 1 ? fixture.first : fixture.second).content.folder);
    }
    CHECK(registry->find_function("kernel_0")->size() == 1);
    CHECK(registry->find_function("nothing")->empty());
    CHECK(registry->list()->size() == 6);
  }
}

TEST_CASE("rows of two versions of a folder are kernels of their own") {
  HomeFixture fixture;
  const ArtifactFolder first(fixture.folder / "first", 0, 3);
  ArtifactFolder second(fixture.folder / "second", 0, 3);
  second.content.pin = std::string(64, 'b');
  second.content.version = "publisher 2";
  const auto registry = fixture.open();
  REQUIRE(first.publish(*registry));
  REQUIRE(second.publish(*registry));
  const auto found = *registry->find_function("kernel_0");
  REQUIRE(found.size() == 2);
  CHECK_FALSE(found[0]->identity == found[1]->identity);
  CHECK_FALSE(registry->find_function("kernel_2")->front()->identity ==
              registry->find_function("kernel_2")->back()->identity);
  CHECK(registry->imports().list()->at(1).version == "publisher 2");
}

TEST_CASE("an import whose folder is gone is said to be, and candidates nothing until it is back") {
  TwoImports fixture({0, 3}, {10, 3, ArtifactPlacement::copied});
  const auto kernel = (*fixture.registry->find_function("kernel_0")).front()->identity.kernel();
  fs::rename(fixture.first.path, fixture.folder / "away");
  const auto imports = *fixture.registry->imports().list();
  REQUIRE(imports.size() == 2);
  CHECK(imports[0].gone);
  CHECK_FALSE(imports[1].gone);
  CHECK(fixture.registry->find(kernel)->empty());
  CHECK(fixture.registry->find_function("kernel_0")->empty());
  CHECK(fixture.registry->list()->size() == 3);
  CHECK(rows_of(*fixture.registry) == sorted(expected_rows(fixture.second.content, 2)));
  const auto findings = fixture.registry->verify()->findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == StoreFinding::Kind::missing_cubin);
  CHECK(findings[0].file == fixture.first.path);
  fs::rename(fixture.folder / "away", fixture.first.path);
  CHECK(serves(*fixture.registry, fixture.first.content, 1));
}

TEST_CASE("an import that cannot be read fails a list, and takes no build away that is there") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  const ArtifactFolder folder(fixture.folder / "published", 0, 3);
  REQUIRE(folder.publish(*registry));
  // A bundle may have brought a publisher's kernel.
  const KernelIdentity bundled = identify(folder.content.rows[0]);
  auto record = std::make_shared<CubinRecord>(*cubin_of(3).record);
  record->identity = bundled;
  record->target = bundled.target();
  REQUIRE(publishes(*registry, {record, cubin_of(3).image}));
  const auto fresh = fixture.open();
  fs::rename(fixture.home / "imports", fixture.folder / "imports");
  write_file(fixture.home / "imports", Bytes(1));  // no folder: it cannot be listed
  CHECK(fresh->find(cubin_of(1).record->identity.kernel())->size() == 1);
  CHECK(fresh->find(cubin_of(2).record->identity.kernel())->empty());  // a template's is in no import
  CHECK(fixture.log.count("imports skipped") == 0);
  CHECK(fresh->find(bundled.kernel())->size() == 1);
  CHECK_FALSE(fresh->find(identify(folder.content.rows[1]).kernel()));
  CHECK_FALSE(fresh->list());
  CHECK(fixture.log.count("imports skipped") == 1);
}

TEST_CASE("an image that a build and an import share goes with the last of them") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 1, ArtifactPlacement::copied);
  const auto registry = fixture.open();
  Cubin cubin = cubin_of(1);
  auto record = std::make_shared<CubinRecord>(*cubin.record);
  record->digest = folder.content.files[0].digest;
  record->size = folder.content.files[0].size;
  cubin = {record, std::make_shared<const Bytes>(artifact_image(0))};
  REQUIRE(publishes(*registry, cubin));
  REQUIRE(folder.publish(*registry));
  CHECK(*registry->remove({cubin.record}) == 1);
  CHECK(serves(*registry, folder.content, 1));
  REQUIRE(publishes(*registry, cubin));
  CHECK(*registry->imports().remove(1));
  CHECK(serves(*registry, cubin));
  CHECK(*registry->remove({cubin.record}) == 1);
  for (const auto& entry : fs::recursive_directory_iterator(fixture.home / "cubins"))
    CHECK(entry.is_directory());
}

TEST_CASE("a name that was looked up is looked up again when imports come and go") {
  HomeFixture fixture;
  const ArtifactFolder first(fixture.folder / "first", 0, 2);
  const ArtifactFolder second(fixture.folder / "second", 0, 2);
  const auto registry = fixture.open();
  const auto found = [&] { return registry->find_function("kernel_1")->size(); };
  CHECK(found() == 0);
  REQUIRE(first.publish(*registry));
  CHECK(found() == 1);
  REQUIRE(second.publish(*fixture.open()));  // by somebody else
  CHECK(found() == 2);
  REQUIRE(registry->imports().remove(1));
  CHECK(found() == 1);
}

TEST_CASE("a damaged or missing file is never served, and another import of it is") {
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
  CHECK(serves(*registry, "kernel_0", digest));
  CHECK(fixture.log.count("imported cubin skipped") == 1);
  REQUIRE(registry->imports().remove(1));
  CHECK_FALSE(serves(*registry, "kernel_0", digest));
  fs::remove(first.path / "sub/kernel_0.cubin");
  CHECK_FALSE(serves(*registry, "kernel_0", digest));
  CHECK(registry->verify()->findings.at(0).kind == StoreFinding::Kind::missing_cubin);
  fs::create_directory(first.path / "sub/kernel_0.cubin");
  CHECK_FALSE(serves(*registry, "kernel_0", digest));
  const auto report = *registry->verify();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == StoreFinding::Kind::damaged_cubin);
  CHECK(report.findings[0].file == first.path / "sub/kernel_0.cubin");
}

TEST_CASE("only verified bytes are brought in, and a damaged image is replaced") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 1, ArtifactPlacement::linked);
  const auto registry = fixture.open();
  const fs::path file = folder.path / folder.content.files[0].name;
  const Sha256Digest digest = folder.content.files[0].digest;
  for (const ArtifactPlacement how : {ArtifactPlacement::linked, ArtifactPlacement::copied}) {
    const auto refused = registry->imports().bring(file.native(), sha256(as_bytes("other")), how);
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::corruption);
  }
  CHECK_FALSE(registry->imports().bring(file.native(), digest, ArtifactPlacement::in_place));
  CHECK_FALSE(registry->imports().publish(folder.content));  // not brought yet
  REQUIRE(registry->imports().bring(file.native(), digest, ArtifactPlacement::linked));
  const fs::path image = fixture.only_file("cubins");
  CHECK(fs::equivalent(image, file));
  fs::remove(image);
  write_file(image, as_bytes("damaged"));
  REQUIRE(registry->imports().bring(file.native(), digest, ArtifactPlacement::copied));
  CHECK(read_file(image) == artifact_image(0));
  CHECK_FALSE(fs::equivalent(image, file));
  CHECK(registry->stats()->quarantined == 1);
  REQUIRE(registry->imports().publish(folder.content));
  CHECK(serves(*registry, folder.content, 1));
}

TEST_CASE("the largest number of an import is the last, and a larger name is no import") {
  TwoImports fixture;
  const fs::path imports = fixture.home / "imports";
  fs::rename(imports / "2.import", imports / "18446744073709551615.import");
  CHECK(fixture.registry->imports().list()->size() == 1);
  CHECK(*fixture.second.publish(*fixture.registry) == 2);
  fs::remove(imports / "18446744073709551615.import");
  fs::rename(imports / "2.import", imports / "9223372036854775807.import");
  CHECK(serves(*fixture.registry, fixture.second.content, 9223372036854775807U));
  const ArtifactFolder third(fixture.folder / "third", 20, 2);
  const auto refused = third.publish(*fixture.registry);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("9223372036854775807.import") != std::string::npos);
  CHECK(serves(*fixture.registry, fixture.first.content, 1));
  CHECK(*fixture.registry->imports().remove(9223372036854775807U));
  CHECK(*third.publish(*fixture.registry) == 2);
}

TEST_CASE("what was verified is remembered, by folder and name") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  VerifiedFile file{"a.cubin", 10, 20, 30, 40, sha256(as_bytes("a")), {}};
  file.inspection.capability = {10, 3};
  file.inspection.kind = TargetKind::specific;
  file.inspection.kernels = {"one", "two"};
  file.inspection.argument_bytes = {0, 1280};
  VerifiedFile other = file;
  other.name = "b.cubin";
  other.inspection.kind.reset();
  other.inspection.excludes_specific = true;
  REQUIRE(registry->imports().remember("/published", std::vector{other, file}));
  file.size = 11;
  REQUIRE(registry->imports().remember("/published", std::vector{file}));
  const auto known = *fixture.open()->imports().verified("/published");
  REQUIRE(known.size() == 2);
  CHECK(known[0].name == "a.cubin");
  CHECK(known[0].size == 11);
  CHECK(known[0].inspection.kernels == file.inspection.kernels);
  CHECK(known[0].inspection.argument_bytes == file.inspection.argument_bytes);
  CHECK(known[0].inspection.kind == TargetKind::specific);
  CHECK(known[1].changed_ns == 30);
  CHECK_FALSE(known[1].inspection.kind);
  CHECK(known[1].inspection.excludes_specific);
  CHECK(registry->imports().verified("/elsewhere")->empty());
}

TEST_CASE("a home that cannot be written serves its imports and refuses to change them") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 3, ArtifactPlacement::copied);
  REQUIRE(folder.publish(*fixture.open()));
  const auto registry = fixture.open(Access::read_only);
  CHECK(serves(*registry, folder.content, 1));
  CHECK(registry->imports().publish(folder.content).error().code == ErrorCode::unavailable);
  CHECK(registry->imports().remove(1).error().code == ErrorCode::unavailable);
  CHECK_FALSE(registry->imports().remember("/folder", std::vector<VerifiedFile>(1)));
  CHECK_FALSE(registry->imports().bring("/file", Sha256Digest{}, ArtifactPlacement::copied));
}

TEST_CASE("an import that could not be read back is refused, by name") {
  HomeFixture fixture;
  const auto registry = fixture.open();
  const ArtifactFolder folder(fixture.folder / "published", 0, 3);
  ArtifactImport changed = folder.content;
  changed.folder = "relative";
  CHECK(registry->imports().publish(changed).error().code == ErrorCode::invalid_argument);
  for (const char* name : {"../up", "/absolute", "a//b", "a/./b", "", "a/.."}) {
    changed = folder.content;
    changed.files[0].name = name;
    CHECK_FALSE(registry->imports().publish(changed));
  }
  changed = folder.content;
  changed.rows[0].digest = sha256(as_bytes("unknown"));
  const auto refused = registry->imports().publish(changed);
  REQUIRE(!refused);
  CHECK(refused.error().message.find("kernel_0") != std::string::npos);
  changed = folder.content;
  changed.rows[0].selector.head_dim_v = 129;
  CHECK_FALSE(registry->imports().publish(changed));
  CHECK(registry->imports().list()->empty());
}

TEST_CASE("publishers in two processes take turns, and every folder is there afterwards") {
  if (!can_fork()) return skip("forks");
  HomeFixture fixture;
  REQUIRE(fixture.open());
  constexpr int kEach = 6;
  const auto publish_all = [&](int side) {
    const auto registry = Home::open(fixture.options());
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
  const auto listed = *registry->imports().list();
  REQUIRE(listed.size() == 2 * kEach);
  for (std::size_t i = 1; i < listed.size(); ++i)
    CHECK(listed[i].number > listed[i - 1].number);
  CHECK(rows_of(*registry).size() == 4 * kEach);
  CHECK(registry->verify()->findings.empty());
}

}  // namespace
}  // namespace cubinet::test
