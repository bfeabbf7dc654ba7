// SPDX-License-Identifier: Apache-2.0
#include "catalog_folder.hpp"
#include "support/ok.hpp"

#include <cubinet/sources/source_import.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::CatalogFolder;
using test::ok;

struct Imported {
  Imported() {
    folder.write();
    catalog = ok(import_sources(*posix_file_system(), {folder.path(), {}, {}}, catalogs)).catalogs.at(0);
    kernel = templates_of(catalog, catalogs).at(0);
  }

  CatalogFolder folder;
  test::TempDir home;
  SourceCatalogs catalogs{home.path()};
  SourceManifest catalog;
  std::shared_ptr<const KernelTemplate> kernel;
};

TEST_CASE("A kernel of a catalog is a template with its source, header, flags and launch") {
  const Imported imported;
  const KernelTemplate& kernel = *imported.kernel;
  CHECK(kernel.name() == "doubles_one");
  CHECK(kernel.summary() == "doubles of some-wheel 1.2");
  CHECK(kernel.minimum_target().to_string() == "sm_90a");
  CHECK(kernel.source() == imported.folder.files.at("csrc/one_kernel.cu"));
  REQUIRE(kernel.headers().contains("common.cuh"));
  const KernelSpec spec = ok(kernel.resolve({}));
  CHECK(spec.maker == KernelMaker::source);
  CHECK(spec.options.at("D:FACTOR") == "2");
  const auto entries = ok(kernel.entry_points(spec));
  REQUIRE(entries.size() == 1);
  CHECK(entries.front().symbol == "kernel_doubles_one");
  CHECK(entries.front().block() == std::array<std::uint32_t, 3>{64, 2, 1});
  CHECK(entries.front().cluster == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK(entries.front().dynamic_shared_bytes == 1024);
  CHECK(entries.front().programmatic_launch);
}

TEST_CASE("A kernel of a catalog is for its own target only and has no parameters") {
  const Imported imported;
  const KernelSpec spec = ok(imported.kernel->resolve({}));
  CHECK(imported.kernel->check_target(spec, ok(SmTarget::parse("sm_90a"))).has_value());
  for (const char* target : {"sm_90", "sm_100a", "sm_103a"})
    CHECK(imported.kernel->check_target(spec, ok(SmTarget::parse(target))).error().code ==
          ErrorCode::unsupported);
  KernelSpec given;
  given.set("n", 4);
  CHECK(imported.kernel->resolve(given).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("The identity has the launch") {
  Imported imported;
  const KernelSpec spec = ok(imported.kernel->resolve({}));
  imported.catalog.kernels.front().dynamic_shared_bytes = 2048;
  const auto other = templates_of(imported.catalog, imported.catalogs).at(0);
  CHECK_FALSE(identify(ok(other->resolve({}))) == identify(spec));
}

TEST_CASE("A source that the home has lost is an error until it is there again") {
  const Imported imported;
  const std::filesystem::path stored =
      imported.home / "sources/files" / imported.catalog.find("csrc/one_kernel.cu")->digest.to_hex();
  std::filesystem::rename(stored, imported.home / "moved");
  CHECK(imported.kernel->source().empty());
  CHECK_FALSE(imported.kernel->resolve({}).has_value());
  std::filesystem::rename(imported.home / "moved", stored);
  CHECK(imported.kernel->resolve({}).has_value());
}

TEST_CASE("A text may be in raw strings") {
  SourceKernel kernel;
  kernel.source = "a.h";
  CHECK(ok(text_of_kernel(kernel, "x")) == "x");
  kernel.raw_strings = "K";
  CHECK(ok(text_of_kernel(kernel, "a R\"K(one)K\" b R\"X(no)X\" R\"K( two)K\";")) == "one two");
  for (const char* text : {"", "R\"K(one", "R\"K(one)K\" R\"K(two", "R\"K()K\""}) {
    CAPTURE(text);
    CHECK_FALSE(text_of_kernel(kernel, text).has_value());
  }
}

}  // namespace
}  // namespace cubinet
