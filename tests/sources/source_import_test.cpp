// SPDX-License-Identifier: Apache-2.0
#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <cubinet/sources/source_import.hpp>

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::CatalogFolder;
using test::ok;

struct Import {
  Result<SourceImportReport> of(const fs::path& folder, const fs::path& manifest = {}) const {
    return import_sources(*posix_file_system(), {folder, manifest, {}}, catalogs);
  }
  // Imports a folder whose catalog is refused. Returns the reason. The home stays as it is.
  Error refusal(const CatalogFolder& folder) const {
    const auto before = ok(catalogs.list());
    const SourceImportReport report = ok(of(folder.path()));
    CHECK(report.catalogs.empty());
    REQUIRE(report.refused.size() == 1);
    CHECK(report.refused.front().file == folder.manifest_path());
    const auto after = ok(catalogs.list());
    REQUIRE(after.size() == before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(to_json(after[i]) == to_json(before[i]));
      for (const SourceFile& file : after[i].files)
        CHECK(catalogs.read(file).has_value());
    }
    return report.refused.front().reason;
  }

  test::TempDir home;
  SourceCatalogs catalogs{home.path()};
};

TEST_CASE("A folder is imported with the licences of its wheel and without the files of the host") {
  const CatalogFolder folder;
  folder.write();
  const Import import;
  const SourceImportReport report = ok(import.of(folder.path()));
  CHECK(report.refused.empty());
  REQUIRE(report.catalogs.size() == 1);
  const SourceManifest& catalog = report.catalogs.front();
  CHECK(catalog.library == "some-wheel 1.2");
  CHECK(catalog.kernels.size() == 2);
  CHECK(catalog.files.size() == 3);
  CHECK(catalog.find("csrc/binding.cu") == nullptr);
  REQUIRE(catalog.licences.size() == 1);
  CHECK(as_text(ok(import.catalogs.read(catalog.licences.front()))) == "A licence.\n");
  // The folder is not needed any more.
  fs::remove_all(folder.path() / "package");
  CHECK(import.catalogs.read(catalog.files.front()).has_value());
}

TEST_CASE("A catalog is refused whole if one of its files is wrong, and the earlier one stays") {
  const Import import;
  CatalogFolder folder;
  folder.write();
  CHECK(ok(import.of(folder.path())).catalogs.size() == 1);
  test::write_file(folder.data() / "csrc/two_kernel.cu", "changed");
  CHECK(import.refusal(folder).message.find("'csrc/two_kernel.cu' has another SHA-256") == 0);
  fs::remove(folder.data() / "csrc/two_kernel.cu");
  CHECK(import.refusal(folder).message == "'csrc/two_kernel.cu' is missing");
  fs::create_symlink(folder.data() / "csrc/one_kernel.cu", folder.data() / "csrc/two_kernel.cu");
  CHECK(import.refusal(folder).message == "'csrc/two_kernel.cu' is reached by a symbolic link");
  // Files of the host are verified, too.
  fs::remove(folder.data() / "csrc/two_kernel.cu");
  folder.write();
  test::write_file(folder.data() / "csrc/binding.cu", "changed");
  CHECK(import.refusal(folder).message.find("'csrc/binding.cu'") == 0);
}

TEST_CASE("A catalog is refused for a flag, a schema or a path") {
  const Import import;
  CatalogFolder folder;
  folder.flag = "--brand-new";
  folder.write();
  CHECK(import.refusal(folder).message.find("the option '--brand-new' is not known") != std::string::npos);
  folder.flag = "-DFACTOR=2";
  folder.schema = "cake.library_export.v9";
  folder.write();
  CHECK(import.refusal(folder).message.find("'cake.library_export.v9' is not known") != std::string::npos);
  folder.schema = "cake.library_export.v5";
  folder.replacements = {{"\"csrc/common.cuh\"", "\"csrc/../../common.cuh\""}};
  folder.write();
  CHECK(import.refusal(folder).code == ErrorCode::invalid_argument);
  folder.replacements = {{"\"csrc/common.cuh\"", "\"/csrc/common.cuh\""}};
  folder.write();
  CHECK(import.refusal(folder).code == ErrorCode::invalid_argument);
}

TEST_CASE("A name of another catalog, of a template or of the same catalog is refused") {
  const Import import;
  CatalogFolder folder;
  folder.second_kernel = "doubles_one";
  folder.write();
  CHECK(import.refusal(folder).message.find("'doubles_one' is named twice") != std::string::npos);
  folder.second_kernel = "rms_norm";
  folder.write();
  CHECK(import.refusal(folder).message == "its kernel 'rms_norm' has the name of a template");
  folder.second_kernel = "doubles_two";
  folder.write();
  CHECK(ok(import.of(folder.path())).catalogs.size() == 1);
  CatalogFolder other;
  other.name = "others";
  other.write();
  CHECK(import.refusal(other).message == "its kernel 'doubles_one' is also in the catalog 'doubles'");
}

TEST_CASE("A catalog is refused if the home could not read the name of its licence again") {
  const Import import;
  const CatalogFolder folder;
  folder.write();
  for (const char* name : {"LICENSE\\two", "LICENSE\x1b[31m", "LICENSE\xff"}) {
    CAPTURE(name);
    const fs::path licence = folder.data() / name;
    test::write_file(licence, "A licence.\n");
    CHECK(import.refusal(folder).message.find("LICENSE") != std::string::npos);
    fs::remove(licence);
  }
  CHECK(ok(import.of(folder.path())).catalogs.size() == 1);
}

TEST_CASE("Of catalogs with a kernel of one name that are imported at once, one is kept") {
  const Import import;
  constexpr std::size_t kCount = 4;
  std::array<CatalogFolder, kCount> folders;
  std::array<std::optional<Result<SourceImportReport>>, kCount> reports;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kCount; ++i) {
    folders[i].name = "doubles" + std::to_string(i);
    folders[i].write();
  }
  threads.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    threads.emplace_back([&, i] { reports[i] = import.of(folders[i].path()); });
  for (std::thread& thread : threads)
    thread.join();
  std::size_t refused = 0;
  for (const auto& report : reports)
    refused += ok(*report).refused.size();
  CHECK(refused == kCount - 1);
  CHECK(ok(import.catalogs.list()).size() == 1);
}

TEST_CASE("Two manifests of one name in a folder are one catalog and one refusal") {
  const Import import;
  const CatalogFolder folder;
  folder.write();
  test::write_file(folder.data() / "csrc/z_manifest.json", folder.manifest());
  const SourceImportReport report = ok(import.of(folder.path()));
  CHECK(report.catalogs.size() == 1);
  REQUIRE(report.refused.size() == 1);
  CHECK(report.refused.front().reason.message == "two manifests are called 'doubles'");
}

TEST_CASE("Manifests of others are skipped in a folder and refused if they are named") {
  const Import import;
  const test::TempDir folder;
  CHECK(import.of(folder.path()).error().code == ErrorCode::not_found);
  test::write_file(folder / "manifest.json", R"({"schema": "other.v1"})");
  const SourceImportReport report = ok(import.of(folder.path()));
  CHECK(report.refused.empty());
  CHECK(report.skipped.size() == 1);
  CHECK(ok(import.of(folder.path(), folder / "manifest.json")).refused.size() == 1);
}

TEST_CASE("The paths of a named manifest begin at the folder") {
  const Import import;
  const test::TempDir folder;
  const test::TempDir elsewhere;
  std::map<std::string, Bytes> contents;
  const SourceManifest manifest = test::own_catalog(contents);
  for (const auto& [path, content] : contents)
    test::write_file(folder / path, content);
  test::write_file(elsewhere / "own.json", to_json(manifest));
  const SourceImportReport report = ok(import.of(folder.path(), elsewhere / "own.json"));
  REQUIRE(report.catalogs.size() == 1);
  CHECK(as_text(ok(import.catalogs.read(report.catalogs.front().licences.front()))) == "A notice.\n");
}

TEST_CASE("A catalog whose source lacks the stated raw strings is refused") {
  const Import import;
  const test::TempDir folder;
  std::map<std::string, Bytes> contents;
  SourceManifest manifest = test::own_catalog(contents);
  manifest.kernels.front().raw_strings = "OTHER";
  for (const auto& [path, content] : contents)
    test::write_file(folder / path, content);
  test::write_file(folder / "manifest.json", to_json(manifest));
  const SourceImportReport report = ok(import.of(folder.path()));
  REQUIRE(report.refused.size() == 1);
  CHECK(report.refused.front().reason.message.find("no complete raw strings") != std::string::npos);
}

TEST_CASE("Without a folder the catalogs of the home are listed, and one may be removed") {
  const Import import;
  const CatalogFolder folder;
  folder.write();
  CHECK(ok(import.of(folder.path())).catalogs.size() == 1);
  const SourceImportReport listed = ok(import.of({}));
  CHECK(listed.lists_kernels);
  CHECK(listed.catalogs.size() == 1);
  const auto removed = import_sources(*posix_file_system(), {{}, {}, "doubles"}, import.catalogs);
  CHECK(ok(removed).catalogs.empty());
}

}  // namespace
}  // namespace cubinet
