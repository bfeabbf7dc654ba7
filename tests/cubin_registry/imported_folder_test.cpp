// SPDX-License-Identifier: Apache-2.0
#include "imported/imported_folder.hpp"

#include "cubin_registry/artifact_fixture.hpp"

#include <cubinet/kernel_table/row_codec.hpp>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

struct FolderFixture {
  HomeFixture home;
  ArtifactFolder published{home.folder / "published", 0, 3};
  FileStore store{posix_file_system(), HomeLayout(home.home), home.log.sink()};
  ImportedFolder folder{
      {posix_file_system(),
       [this](const Sha256Digest& digest, std::uint64_t size) { return store.read_image(digest, size); },
       home.log.sink()},
      7,
      published.content};
};

TEST_CASE("the builds of an imported folder are what its rows and functions say") {
  FolderFixture fixture;
  CHECK(fixture.folder.description().kind == "imported");
  CHECK(fixture.folder.description().place == fixture.published.path);
  const auto rows = *fixture.folder.rows();
  REQUIRE(rows->size() == 2);
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const auto& [row, record] = (*rows)[i];
    CHECK(*row == expected_rows(fixture.published.content, 7)[i]);
    CHECK(row.get() == &fixture.folder.import().rows[i]);  // kept once
    CHECK(record->identity == identify(*row));
    CHECK(record->origin == CubinOrigin::imported);
    CHECK(record->version == 7);
    CHECK(record->digest == row->digest);
    CHECK(record->fingerprint.digest == row->digest);
    CHECK(record->size == artifact_image(static_cast<int>(i)).size());
    CHECK(decode_row(record->row)->selector == row->selector);
    CHECK(fixture.folder.find(record->identity.kernel())->size() == 1);
  }
  const auto plain = *fixture.folder.find_function("kernel_2");
  REQUIRE(plain.size() == 1);
  KernelSpec spec{"kernel_2", {}, KernelMaker::function};
  spec.set("pin", fixture.published.content.pin);
  CHECK(plain[0]->identity == identify(spec, {10, 0, TargetKind::family}));
  CHECK(plain[0]->row.empty());
  CHECK(fixture.folder.list()->size() == 3);
  spec.maker = KernelMaker::kernel_template;
  CHECK(fixture.folder.find(identify(spec))->empty());
  CHECK(fixture.folder.find_key(plain[0]->identity.key())->front() == plain[0]);
}

TEST_CASE("the bytes of an imported build are verified, and a folder that is gone has none") {
  FolderFixture fixture;
  const auto record = (*fixture.folder.find_function("kernel_0")).front();
  const auto loaded = fixture.folder.load(record);
  REQUIRE((loaded && *loaded));
  CHECK(*(*loaded)->image == artifact_image(0));
  write_file(fixture.published.path / "sub/kernel_0.cubin", Bytes(artifact_image(0).size()));
  CHECK_FALSE(*fixture.folder.load(record));
  fs::remove_all(fixture.published.path);
  CHECK_FALSE(*fixture.folder.available());
  CHECK(fixture.folder.summary().gone);
  CHECK_FALSE(*fixture.folder.load(record));
  CHECK(fixture.folder.find(record->identity.kernel())->empty());
  CHECK(fixture.folder.find_key(record->identity.key())->empty());
}

}  // namespace
}  // namespace cubinet::test
