// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/forwarding_files.hpp"
#include "local/home_layout.hpp"

#include <cubinet/cubin_registry/imports.hpp>

#include <chrono>
#include <functional>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;
using Kind = StoreFinding::Kind;

// "stray_file missing_cubin", in the order of findings.
std::string kinds_of(Home& registry) {
  std::string kinds;
  const VerifyReport report = *registry.verify();
  for (const StoreFinding& finding : report.findings)
    kinds += (kinds.empty() ? "" : " ") + std::string(to_string(finding.kind));
  return kinds;
}

TEST_CASE("a sweep removes images that no import names, and none while an import cannot be read") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 2, ArtifactPlacement::copied);
  const auto registry = fixture.open();
  REQUIRE(folder.publish(*registry));
  const Bytes stray = artifact_image(9);
  const fs::path path = HomeLayout(fixture.home).cubin(sha256(stray));
  write_file(path, stray);
  CHECK(kinds_of(*registry) == "stray_file");
  // A version of imports that this build does not know may name it.
  Bytes newer = read_file(fixture.home / "imports" / "1.import");
  newer[4] = std::byte{9};
  write_file(fixture.home / "imports" / "2.import", newer);
  CHECK(registry->sweep()->bytes == 0);
  CHECK(fs::exists(path));
  CHECK(registry->verify()->findings.size() == 2);
  fs::remove(fixture.home / "imports" / "2.import");
  CHECK(registry->sweep()->bytes == stray.size());
  CHECK_FALSE(fs::exists(path));
  CHECK(serves(*registry, folder.content, 1));
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("images that are being brought in survive a sweep of another process") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 2, ArtifactPlacement::linked);
  const auto registry = fixture.open();
  for (const ArtifactFile& file : folder.content.files)
    REQUIRE(registry->imports().bring((folder.path / file.name).native(), file.digest,
                                      ArtifactPlacement::linked));
  CHECK(fixture.open()->sweep());
  REQUIRE(registry->imports().publish(folder.content));
  CHECK(serves(*registry, folder.content, 1));
  CHECK(fixture.open()->sweep());
  CHECK(serves(*registry, folder.content, 1));
  // Brought, and never published: they go with the registry that brought them.
  const ArtifactFolder other(fixture.folder / "other", 5, 1, ArtifactPlacement::linked);
  const fs::path image = HomeLayout(fixture.home).cubin(other.content.files[0].digest);
  {
    const auto interrupted = fixture.open();
    REQUIRE(interrupted->imports().bring(other.path / other.content.files[0].name,
                                         other.content.files[0].digest, ArtifactPlacement::linked));
    CHECK(fixture.open()->sweep());
    CHECK(fs::exists(image));
  }
  CHECK(fixture.open()->sweep());
  CHECK_FALSE(fs::exists(image));
  CHECK(fs::exists(other.path / other.content.files[0].name));
}

// Does something after each link.
struct LinkingFiles : ForwardingFiles {
  std::function<void()> after;

  Result<void> link(const fs::path& from, const fs::path& to) override {
    auto linked = ForwardingFiles::link(from, to);
    if (after) after();
    return linked;
  }
};

TEST_CASE("a link to an old file survives a sweep before it has its name") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 2, ArtifactPlacement::linked);
  for (const ArtifactFile& file : folder.content.files)
    fs::last_write_time(folder.path / file.name, fs::file_time_type::clock::now() - std::chrono::hours(48));
  const auto files = std::make_shared<LinkingFiles>();
  HomeOptions options = fixture.options();
  options.files = files;
  const auto importer = *Home::open(options);
  const auto other = fixture.open();
  files->after = [&] { CHECK(other->sweep()->bytes == 0); };
  REQUIRE(folder.publish(*importer));
  CHECK(serves(*importer, folder.content, 1));
}

TEST_CASE("a home that was copied is sound, and so is one that images are being brought into") {
  HomeFixture fixture;
  const ArtifactFolder folder(fixture.folder / "published", 0, 2, ArtifactPlacement::copied);
  REQUIRE(folder.publish(*fixture.open()));
  HomeFixture copied;
  fs::copy(fixture.home, copied.home, fs::copy_options::recursive);
  fs::permissions(copied.home, fs::perms::owner_all);
  fs::last_write_time(copied.home / "imports" / "1.import", fs::file_time_type::clock::now());
  const auto reader = copied.open(HomeOptions::Access::read_only);
  CHECK(kinds_of(*reader).empty());
  const auto importer = copied.open();
  const ArtifactFolder other(fixture.folder / "other", 5, 1);
  const ArtifactFile& file = other.content.files[0];
  REQUIRE(
      importer->imports().bring((other.path / file.name).native(), file.digest, ArtifactPlacement::copied));
  CHECK(kinds_of(*reader).empty());
}

TEST_CASE("a damaged import is named by verify, set aside by rebuild, and the others stay") {
  TwoImports fixture;
  const fs::path file = fixture.home / "imports" / "1.import";
  Bytes bytes = read_file(file);
  bytes[bytes.size() / 2] ^= std::byte{4};
  write_file(file, bytes);
  const auto findings = fixture.registry->verify()->findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == Kind::damaged_import);
  CHECK(findings[0].file == "imports/1.import");
  CHECK(fixture.registry->repair());
  CHECK_FALSE(fs::exists(file));
  CHECK(fixture.registry->stats()->quarantined == 1);
  CHECK(fixture.registry->imports().list()->size() == 1);
  CHECK(serves(*fixture.registry, fixture.second.content, 2));
  CHECK(fixture.registry->verify()->findings.empty());
}

TEST_CASE("a damaged import is passed over, its rows go and nothing crashes") {
  TwoImports fixture;
  fs::resize_file(fixture.home / "imports" / "1.import", 100);
  CHECK(rows_of(*fixture.open()) == sorted(expected_rows(fixture.second.content, 2)));
  CHECK(fixture.log.count("1.import") > 0);
  const auto registry = fixture.open();
  CHECK(*fixture.first.publish(*registry) == 3);
  CHECK(serves(*registry, fixture.first.content, 3));
}

TEST_CASE("verify reads the images of every import and names what is damaged or missing") {
  TwoImports fixture({0, 2}, {10, 2, ArtifactPlacement::copied});
  const ArtifactFolder& in_place = fixture.first;
  std::uint64_t bytes = 0;
  for (const int number : {0, 1, 10, 11})
    bytes += artifact_image(number).size();
  CHECK(fixture.registry->verify()->bytes == bytes);
  fs::remove(in_place.path / in_place.content.files[0].name);
  fs::resize_file(HomeLayout(fixture.home).cubin(fixture.second.content.files[0].digest), 5);
  CHECK(kinds_of(*fixture.registry) == "missing_cubin damaged_cubin");
}

}  // namespace
}  // namespace cubinet::test
