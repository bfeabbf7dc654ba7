// SPDX-License-Identifier: Apache-2.0
#include "import_files.hpp"

#include "cubin_registry/artifact_fixture.hpp"
#include "import_format.hpp"

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

struct FilesFixture {
  HomeFixture home;
  std::unique_ptr<Registry> registry = home.open();  // makes the folders
  FileStore store{posix_file_system(), Home(registry->home()), home.log.sink()};
  ImportFiles imports{store};
};

TEST_CASE("imports are files named by their numbers, and nothing else in the folder is one") {
  FilesFixture fixture;
  CHECK(fixture.imports.stamps()->empty());
  const ArtifactFolder folder(fixture.home.folder / "published", 0, 3);
  const Bytes bytes = *encode_import(folder.content);
  const auto stamp = fixture.imports.write(12, bytes);
  REQUIRE(stamp);
  CHECK(stamp->size == bytes.size());
  for (const char* name :
       {"0.import", "012.import", "x.import", ".12.import", "13.imports", "13", "-1.import",
        "9223372036854775808.import", "18446744073709551615.import", "18446744073709551616.import"})
    write_file(fixture.registry->home() / "imports" / name, bytes);
  const auto stamps = *fixture.imports.stamps();
  REQUIRE(stamps.size() == 1);
  CHECK(stamps[0] == *stamp);
  CHECK(fixture.imports.holds(*stamp, bytes));
  CHECK_FALSE(fixture.imports.holds(*stamp, ByteView(bytes).first(10)));
  CHECK(fixture.imports.read(*stamp)->content.rows == expected_rows(folder.content, 12));
  CHECK(*fixture.imports.remove(12));
  CHECK_FALSE(*fixture.imports.remove(12));
}

TEST_CASE("of one folder the highest number is in force") {
  FilesFixture fixture;
  const ArtifactFolder old(fixture.home.folder / "published", 0, 2);
  const ArtifactFolder renewed(fixture.home.folder / "published", 0, 3);
  REQUIRE(fixture.imports.write(1, *encode_import(old.content)));
  REQUIRE(fixture.imports.write(2, *encode_import(renewed.content)));
  CHECK(fixture.imports.summaries()->size() == 2);
  const auto in_force = *fixture.imports.in_force();
  REQUIRE(in_force.size() == 1);
  CHECK(in_force[0].summary->number == 2);
}

TEST_CASE("a damaged import is handed over as its error, and the others as they are") {
  FilesFixture fixture;
  const ArtifactFolder folder(fixture.home.folder / "published", 0, 2);
  REQUIRE(fixture.imports.write(1, as_bytes("damaged")));
  REQUIRE(fixture.imports.write(2, *encode_import(folder.content)));
  std::vector<std::uint64_t> good;
  std::vector<std::uint64_t> bad;
  REQUIRE(fixture.imports.for_each([&](const ImportStamp& stamp, Result<StoredImport> import) {
    (import ? good : bad).push_back(stamp.number);
    return Result<void>();
  }));
  CHECK(good == std::vector<std::uint64_t>{2});
  CHECK(bad == std::vector<std::uint64_t>{1});
}

TEST_CASE("a file in place is read as it is, and refused when it is another one or no file") {
  FilesFixture fixture;
  const ArtifactFolder folder(fixture.home.folder / "published", 0, 1);
  const ArtifactFile& file = folder.content.files[0];
  CHECK(**fixture.imports.read_in_place(folder.path, file) == artifact_image(0));
  // Owner and other names do not matter: the digest does.
  fs::create_hard_link(folder.path / file.name, folder.path / "second_name");
  CHECK(fixture.imports.read_in_place(folder.path, file));
  write_file(folder.path / file.name, Bytes(file.size + 1));
  CHECK_FALSE(fixture.imports.read_in_place(folder.path, file));
  fs::remove(folder.path / file.name);
  CHECK(fixture.imports.read_in_place(folder.path, file).error().code == ErrorCode::not_found);
  fs::create_directory(folder.path / file.name);
  CHECK_FALSE(fixture.imports.read_in_place(folder.path, file));
}

TEST_CASE("an image that has grown is not read, and replaced by whoever brings it again") {
  FilesFixture fixture;
  const ArtifactFolder folder(fixture.home.folder / "published", 0, 1);
  const ArtifactFile& file = folder.content.files[0];
  for (const ArtifactPlacement how : {ArtifactPlacement::copied, ArtifactPlacement::linked}) {
    REQUIRE(fixture.imports.bring(folder.path / file.name, file.digest, how));
    const fs::path image = fixture.store.home().artifact(file.digest);
    fs::copy_file(image, image.string() + ".grown");
    fs::rename(image.string() + ".grown", image);
    fs::resize_file(image, std::uintmax_t{1} << 30);
    const auto grown = fixture.imports.read_image(file.digest, file.size);
    REQUIRE_FALSE(grown);
    CHECK(grown.error().message.find("allowed here") != std::string::npos);
    REQUIRE(fixture.imports.bring(folder.path / file.name, file.digest, how));
    CHECK(**fixture.imports.read_image(file.digest, file.size) == artifact_image(0));
  }
}

TEST_CASE("a link that is not possible becomes a copy") {
  FilesFixture fixture;
  const ArtifactFolder folder(fixture.home.folder / "published", 0, 1);
  const ArtifactFile& file = folder.content.files[0];
  fs::create_symlink(folder.path / file.name, folder.path / "link");
  REQUIRE(fixture.imports.bring(folder.path / "link", file.digest, ArtifactPlacement::linked));
  CHECK(**fixture.imports.read_image(file.digest, file.size) == artifact_image(0));
  CHECK_FALSE(fixture.imports.bring(folder.path / "none", sha256(as_bytes("x")), ArtifactPlacement::linked));
}

}  // namespace
}  // namespace cubinet::test
