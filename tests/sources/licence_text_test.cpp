// SPDX-License-Identifier: Apache-2.0
#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <cubinet/sources/source_import.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

TEST_CASE("Licences name the built kernels, the texts and the first comments of the sources") {
  const test::CatalogFolder folder;
  folder.write();
  const test::TempDir home;
  const SourceCatalogs catalogs(home.path());
  const auto manifests = ok(import_sources(*posix_file_system(), {folder.path(), {}, {}}, catalogs)).catalogs;
  const std::string text = ok(licences_of(manifests, {"doubles_one", "rms_norm"}, catalogs));
  CHECK(text.find("doubles of some-wheel 1.2: 1 kernel\n  doubles_one\n") != std::string::npos);
  CHECK(text.find("some_wheel-1.2.dist-info/licenses/LICENSE of some-wheel 1.2\n") != std::string::npos);
  CHECK(text.find("\nA licence.\n") != std::string::npos);
  CHECK(text.find("Copyright of kernel_doubles_one") != std::string::npos);
  CHECK(text.find("Copyright of kernel_doubles_two") == std::string::npos);
  CHECK(ok(licences_of(manifests, {"rms_norm"}, catalogs)).empty());
}

TEST_CASE("A catalog without a licence says so") {
  const test::TempDir home;
  const SourceCatalogs catalogs(home.path());
  std::map<std::string, Bytes> contents;
  SourceManifest manifest = test::own_catalog(contents);
  manifest.licences.clear();
  manifest.library = "library\n1.0";
  ok(catalogs.save(manifest, contents));
  CHECK(ok(licences_of({manifest}, {"twice_kernel"}, catalogs))
            .find("own of library\\x0a1.0: 1 kernel, without a file of a licence\n") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
