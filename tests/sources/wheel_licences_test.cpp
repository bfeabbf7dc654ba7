// SPDX-License-Identifier: Apache-2.0
#include "wheel_licences.hpp"

#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::CatalogFolder;
using test::ok;

FoundLicences licences_in(const CatalogFolder& folder) {
  return ok(find_licences(*posix_file_system(), folder.manifest_path(), folder.path()));
}

TEST_CASE("The licences of the wheel that lists the manifest are found") {
  const CatalogFolder folder;
  folder.write();
  test::write_file(folder.path() / "some_wheel-1.2.dist-info/METADATA", "Name: some-wheel\n");
  test::write_file(folder.path() / "other-3.dist-info/RECORD", "other/__init__.py,,\n");
  test::write_file(folder.path() / "other-3.dist-info/LICENSE", "Of another wheel.\n");
  const FoundLicences found = licences_in(folder);
  CHECK(found.library == "some-wheel 1.2");
  REQUIRE(found.texts.size() == 1);
  CHECK(found.texts.begin()->first == "some_wheel-1.2.dist-info/licenses/LICENSE");
}

TEST_CASE("Licences and notices above the manifest are found, and links are not followed") {
  const CatalogFolder folder;
  folder.write();
  std::filesystem::remove_all(folder.path() / "some_wheel-1.2.dist-info");
  test::write_file(folder.path() / "package/Copying", "a\n");
  test::write_file(folder.data() / "csrc/NOTICE.txt", "b\n");
  test::write_file(folder.path() / "elsewhere/LICENSE", "c\n");
  std::filesystem::create_symlink("/etc/passwd", folder.path() / "LICENSE");
  const FoundLicences found = licences_in(folder);
  CHECK(found.library.empty());
  REQUIRE(found.texts.size() == 2);
  CHECK(found.texts.contains("package/Copying"));
  CHECK(found.texts.contains("package/data/csrc/NOTICE.txt"));
}

}  // namespace
}  // namespace cubinet
