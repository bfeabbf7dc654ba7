// SPDX-License-Identifier: Apache-2.0
#include "listed_files.hpp"

#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

namespace fs = std::filesystem;
using test::CatalogFolder;
using test::ok;

const std::shared_ptr<FileSystem> kFiles = posix_file_system();

SourceManifest manifest_of(const CatalogFolder& folder) {
  return ok(parse_source_manifest(folder.manifest(), "m"));
}

TEST_CASE("Manifests are found by the end of their names, and links are not followed") {
  const CatalogFolder folder;
  folder.write();
  test::write_file(folder.path() / "a/deep/folder/manifest.json", "{}");
  test::write_file(folder.path() / "other.json", "{}");
  fs::create_symlink(folder.manifest_path(), folder.path() / "link_manifest.json");
  fs::create_directory_symlink(folder.path() / "a", folder.path() / "z");
  CHECK(ok(find_manifests(*kFiles, folder.path())) ==
        std::vector<fs::path>{folder.path() / "a/deep/folder/manifest.json", folder.manifest_path()});
  CHECK(find_manifests(*kFiles, folder.path() / "absent").error().code == ErrorCode::not_found);
}

TEST_CASE("The paths of a manifest begin at the nearest folder above it that has them") {
  const CatalogFolder folder;
  folder.write();
  CHECK(ok(base_of(*kFiles, folder.manifest_path(), folder.path(), manifest_of(folder))) == folder.data());
  const auto none = base_of(*kFiles, folder.manifest_path(), folder.data() / "csrc", manifest_of(folder));
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code == ErrorCode::not_found);
  CHECK(none.error().message.find("'csrc/binding.cu'") != std::string::npos);
}

TEST_CASE("A listed file has the digest that the manifest states") {
  const CatalogFolder folder;
  folder.write();
  const SourceFile file = *manifest_of(folder).find("csrc/common.cuh");
  CHECK(as_text(ok(read_listed(*kFiles, folder.data(), file))) == folder.files.at("csrc/common.cuh"));
  test::write_file(folder.data() / "csrc/common.cuh", "constexpr int kZero = 1;\n");
  const auto changed = read_listed(*kFiles, folder.data(), file);
  REQUIRE_FALSE(changed.has_value());
  CHECK(changed.error().code == ErrorCode::corruption);
  CHECK(changed.error().message.find("'csrc/common.cuh'") != std::string::npos);
  fs::remove(folder.data() / "csrc/common.cuh");
  CHECK(read_listed(*kFiles, folder.data(), file).error().code == ErrorCode::not_found);
}

TEST_CASE("A listed file is not reached by a link, even to the right content") {
  const CatalogFolder folder;
  folder.write();
  const SourceFile file = *manifest_of(folder).find("csrc/common.cuh");
  fs::rename(folder.data() / "csrc/common.cuh", folder.path() / "moved.cuh");
  fs::create_symlink(folder.path() / "moved.cuh", folder.data() / "csrc/common.cuh");
  CHECK(read_listed(*kFiles, folder.data(), file).error().code == ErrorCode::untrusted);
  fs::remove(folder.data() / "csrc/common.cuh");
  fs::rename(folder.path() / "moved.cuh", folder.data() / "csrc/common.cuh");
  fs::rename(folder.data() / "csrc", folder.path() / "elsewhere");
  fs::create_directory_symlink(folder.path() / "elsewhere", folder.data() / "csrc");
  CHECK(read_listed(*kFiles, folder.data(), file).error().code == ErrorCode::untrusted);
}

}  // namespace
}  // namespace cubinet
