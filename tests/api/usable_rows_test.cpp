// SPDX-License-Identifier: Apache-2.0
// Which rows of a home a Runtime would use, with real NVRTC and without a device.
#include "runtime_fixture.hpp"

#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/usable_rows.hpp>

namespace cubinet {
namespace {

using namespace test;

constexpr SmTarget kTarget{9, 0, TargetKind::specific};

// The template of the fixture with a row of the kernel table, and code or interface version of its own.
TemplateCatalog catalog_with_row(int added, int interface_version = 1) {
  std::string source = kScaleTemplate;
  const auto replace = [&source](const std::string& from, const std::string& to) {
    const auto position = source.find(from);
    REQUIRE(position != std::string::npos);
    source.replace(position, from.size(), to);
  };
  replace("\"interface\": 1", "\"interface\": " + std::to_string(interface_version));
  replace("\"constraints\": [],",
          R"("constraints": [], "row": {"kernel_type": "'keeps'", "head_dim_qk": 128, "head_dim_v": 128},)");
  replace("p.data[i] *= cubinet::parameters::factor;",
          "p.data[i] = p.data[i] * cubinet::parameters::factor + " + std::to_string(added) + ";");
  return scale_catalog(std::move(source));
}

void build(const std::filesystem::path& home, const TemplateCatalog& templates) {
  auto options = runtime_options(home);
  options.templates = templates;
  const auto found = make_runtime(std::move(options))->cubin(scale_spec(), kTarget);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().to_line()));
}

std::unique_ptr<Registry> open(const std::filesystem::path& home) {
  RegistryOptions options;
  options.home = home;
  auto registry = Registry::open(options);
  REQUIRE(registry);
  return *std::move(registry);
}

UsableRows rows_for(const std::filesystem::path& home, const TemplateCatalog& templates, bool with_compiler) {
  std::shared_ptr<Compiler> compiler;
  if (with_compiler) compiler = *Compiler::open(compiler_search());
  const auto registry = open(home);
  auto rows = usable_rows(*registry, templates, compiler.get());
  REQUIRE_MESSAGE(rows, (rows ? "" : rows.error().to_line()));
  return *std::move(rows);
}

TEST_CASE("two builds of one kernel are one that is current and one that is stale, and no conflict") {
  const TempDir folder;
  const auto old_text = catalog_with_row(1);
  const auto new_text = catalog_with_row(2);
  build(folder / "h", old_text);
  CHECK(rows_for(folder / "h", old_text, true).rows.size() == 1);
  const auto before = rows_for(folder / "h", new_text, true);
  CHECK(before.rows.empty());
  CHECK(before.stale == 1);
  build(folder / "h", new_text);
  for (const TemplateCatalog& templates : {old_text, new_text}) {
    const auto usable = rows_for(folder / "h", templates, true);
    REQUIRE(usable.rows.size() == 1);
    CHECK(usable.conflicts.empty());
    CHECK(usable.stale == 1);
    CHECK_FALSE(usable.rows[0].provenance.stale);
  }
}

TEST_CASE("the row is that of the build which a request would get") {
  const TempDir folder;
  const auto old_text = catalog_with_row(1);
  const auto new_text = catalog_with_row(2);
  build(folder / "h", old_text);
  build(folder / "h", new_text);
  auto options = runtime_options(folder / "h");
  options.templates = new_text;
  const auto found = make_runtime(std::move(options))->cubin(scale_spec(), kTarget);
  REQUIRE(found);
  REQUIRE((*found)->source == KernelSource::registry);
  const auto usable = rows_for(folder / "h", new_text, true);
  REQUIRE(usable.rows.size() == 1);
  CHECK(usable.rows[0].provenance.fingerprint == (*found)->cubin.record->fingerprint.digest);
}

TEST_CASE("without a compiler a local build counts while its interface version fits") {
  const TempDir folder;
  build(folder / "h", catalog_with_row(1));
  CHECK(rows_for(folder / "h", catalog_with_row(2), false).rows.size() == 1);
  const auto raised = rows_for(folder / "h", catalog_with_row(2, 2), false);
  CHECK(raised.rows.empty());
  CHECK(raised.foreign == 1);
}

TEST_CASE("a stale local build gives way to what a bundle brought") {
  const TempDir folder;
  const auto old_text = catalog_with_row(1);
  const auto new_text = catalog_with_row(2);
  build(folder / "other", new_text);
  const auto other = open(folder / "other");
  const auto records = other->list();
  REQUIRE(records);
  REQUIRE(records->size() == 1);
  const auto cubin = other->load(records->front());
  REQUIRE(cubin);
  const auto file = folder / "b.cubundle";
  REQUIRE(create_bundle(*posix_file_system(), file, {**cubin}, {"b", 7}));
  build(folder / "h", old_text);
  {
    const auto home = open(folder / "h");
    const auto bundle = Bundle::open(posix_file_system(), file);
    REQUIRE(bundle);
    REQUIRE(import_bundle(**bundle, *home));
  }
  const auto usable = rows_for(folder / "h", new_text, true);
  REQUIRE(usable.rows.size() == 1);
  CHECK(usable.rows[0].provenance.origin == RowOrigin::bundle);
  CHECK(usable.conflicts.empty());
}

}  // namespace
}  // namespace cubinet
