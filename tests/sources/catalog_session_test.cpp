// SPDX-License-Identifier: Apache-2.0
// Requests kernels of catalogs through a Session: by name, by key, from a bundle. Compiles with
// NVRTC.
#include "catalog_folder.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"

#include <cubinet/session.hpp>
#include <cubinet/session/prebuild.hpp>
#include <cubinet/sources/source_import.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::CatalogFolder;
using test::ok;

struct CatalogHome {
  CatalogHome() {
    folder.write();
    CHECK(ok(import_sources(*posix_file_system(), {folder.path(), {}, {}}, SourceCatalogs(home.path())))
              .refused.empty());
  }
  SessionOptions options() const {
    SessionOptions options;
    options.home = home.path().string();
    options.compiler = test::compiler_search();
    return options;
  }
  std::shared_ptr<Session> session() const { return ok(Session::open(options())); }
  PrebuildOptions prebuild_options() const {
    PrebuildOptions options;
    options.catalogs = {"all"};
    options.output = (home / "c.bundle").string();
    return options;
  }

  CatalogFolder folder;
  test::TempDir home;
};

const SmTarget kTarget = {9, 0, TargetKind::specific};

TEST_CASE("A kernel of a catalog is compiled when it is requested by name, and found afterwards") {
  const CatalogHome home;
  std::string key;
  for (const KernelSource expected : {KernelSource::compiled, KernelSource::registry}) {
    const auto session = home.session();
    const auto kernel = ok(session->runtime().resolve(std::string_view("doubles_one")));
    CHECK(kernel->spec().maker == KernelMaker::source);
    const auto found = ok(session->runtime().cubin(kernel->spec(), kTarget));
    REQUIRE(found.has_value());
    CHECK(found->source == expected);
    const CubinRecord& record = *found->cubin.record;
    REQUIRE(record.entry_points.size() == 1);
    CHECK(record.entry_points.front().symbol == "kernel_doubles_one");
    CHECK(record.entry_points.front().block() == std::array<std::uint32_t, 3>{64, 2, 1});
    CHECK(record.entry_points.front().dynamic_shared_bytes == 1024);
    key = record.identity.key().to_string();
    // A stored build leads to the template, so that it is known to be current.
    CHECK(ok(session->runtime().build_status(found->cubin.record)).verdict.find("would be the same today") !=
          std::string::npos);
  }
  const auto by_key = ok(home.session()->runtime().resolve(std::string_view(key)));
  CHECK(by_key->spec().name == "doubles_one");
}

TEST_CASE("A specification of the name alone is the same kernel") {
  const CatalogHome home;
  const auto session = home.session();
  KernelSpec spec;
  spec.name = "doubles_one";
  CHECK(ok(session->runtime().resolve(spec)) ==
        ok(session->runtime().resolve(std::string_view("doubles_one"))));
  // Also while nothing may be read from the stores.
  ok(session->runtime().freeze());
  CHECK(session->runtime().resolve(spec).has_value());
}

TEST_CASE("A source of the caller with the same name is another kernel") {
  const CatalogHome home;
  const auto session = home.session();
  SourceProgram program;
  program.name = "doubles_one";
  program.text = "extern \"C\" __global__ void other() {}";
  const auto own = ok(session->runtime().resolve(program));
  const auto kernel = ok(session->runtime().resolve(std::string_view("doubles_one")));
  CHECK_FALSE(identify(own->spec()) == identify(kernel->spec()));
  const auto found = ok(session->runtime().cubin(own->spec(), kTarget));
  REQUIRE(found.has_value());
  CHECK(found->cubin.record->entry_points.front().symbol == "other");
  const auto later = home.session();
  const auto status = ok(later->runtime().build_status(found->cubin.record));
  CHECK(status.verdict.find("stale") == std::string::npos);
}

TEST_CASE("A kernel of a catalog is not compiled for another target") {
  const CatalogHome home;
  const auto session = home.session();
  const auto kernel = ok(session->runtime().resolve(std::string_view("doubles_one")));
  const auto other = session->runtime().cubin(kernel->spec(), {10, 0, TargetKind::specific});
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().message.find("is for sm_90a") != std::string::npos);
}

TEST_CASE("A bundle of a catalog is used without its sources, and licences are beside it") {
  const CatalogHome home;
  const PrebuildResult built = ok(prebuild(home.options(), home.prebuild_options()));
  CHECK(built.built.size() == 2);
  CHECK(built.failed.empty());
  CHECK(built.licences == built.bundle + ".licenses.txt");
  const Bytes licences = ok(posix_file_system()->read(built.licences, 1 << 20));
  CHECK(as_text(licences).find("A licence.") != std::string::npos);
  CHECK(as_text(licences).find("doubles_two") != std::string::npos);
  SessionOptions options;
  options.bundles = {{built.bundle}};
  options.compile = CompilePolicy::never;
  const auto session = ok(Session::open(options));
  for (const char* name : {"doubles_one", "kernel_doubles_one"}) {
    const auto kernel = ok(session->runtime().resolve(std::string_view(name)));
    const auto found = ok(session->runtime().cubin(kernel->spec(), kTarget));
    REQUIRE(found.has_value());
    CHECK(found->source == KernelSource::bundle);
  }
}

TEST_CASE("A kernel that does not compile leaves a partial bundle with its own licences") {
  CatalogHome home;
  home.folder.files["csrc/two_kernel.cu"] = "#error no\n";
  home.folder.write();
  CHECK(
      ok(import_sources(*posix_file_system(), {home.folder.path(), {}, {}}, SourceCatalogs(home.home.path())))
          .catalogs.size() == 1);
  const PrebuildResult built = ok(prebuild(home.options(), home.prebuild_options()));
  REQUIRE(built.failed.size() == 1);
  CHECK(built.failed.front().kernel.spec.name == "doubles_two");
  CHECK(built.licences == (home.home / "c.bundle.partial.licenses.txt").string());
  CHECK(as_text(ok(posix_file_system()->read(built.licences, 1 << 20))).find("doubles_two") ==
        std::string::npos);
}

TEST_CASE("A complete bundle replaces the licences of the incomplete one") {
  CatalogHome home;
  const auto import = [&] {
    home.folder.write();
    const SourceCatalogs catalogs(home.home.path());
    CHECK(ok(import_sources(*posix_file_system(), {home.folder.path(), {}, {}}, catalogs)).catalogs.size() ==
          1);
  };
  const std::string whole = home.folder.files["csrc/two_kernel.cu"];
  home.folder.files["csrc/two_kernel.cu"] = "#error no\n";
  import();
  const PrebuildResult partial = ok(prebuild(home.options(), home.prebuild_options()));
  REQUIRE(std::filesystem::exists(partial.licences));
  home.folder.files["csrc/two_kernel.cu"] = whole;
  import();
  const PrebuildResult built = ok(prebuild(home.options(), home.prebuild_options()));
  CHECK(built.licences == built.bundle + ".licenses.txt");
  CHECK_FALSE(std::filesystem::exists(partial.licences));
}

TEST_CASE("A bundle is not written if its licences cannot be") {
  const CatalogHome home;
  const PrebuildOptions options = home.prebuild_options();
  std::filesystem::create_directories(options.output + ".licenses.txt");
  CHECK_FALSE(prebuild(home.options(), options).has_value());
  CHECK_FALSE(std::filesystem::exists(options.output));
}

TEST_CASE("A catalog that the home does not have cannot be prebuilt") {
  const CatalogHome home;
  PrebuildOptions options = home.prebuild_options();
  options.catalogs = {"doubles", "others"};
  const auto refused = prebuild(home.options(), options);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::not_found);
  CHECK(refused.error().remedy == "it has doubles");
}

TEST_CASE("A template of the session precedes the kernel of a catalog with its name") {
  const CatalogHome home;
  test::write_file(home.home / "doubles_one.cu", R"(/* cubinet-template
{ "name": "doubles_one", "interface": 1, "summary": "own", "minimum_target": "sm_80", "parameters": [],
  "constraints": [],
  "kernels": [ {"name": "own", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 0} ] }
*/
extern "C" __global__ void own() {}
)");
  SessionOptions options = home.options();
  options.template_files = {(home.home / "doubles_one.cu").string()};
  std::vector<std::string> warnings;
  options.log = [&](const LogRecord& record) {
    if (record.level == LogLevel::warning) warnings.emplace_back(record.message);
  };
  const auto session = ok(Session::open(options));
  CHECK(ok(session->runtime().resolve(std::string_view("doubles_one")))->spec().maker ==
        KernelMaker::kernel_template);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().find("a kernel of the catalog 'doubles' is left out") == 0);
}

}  // namespace
}  // namespace cubinet
