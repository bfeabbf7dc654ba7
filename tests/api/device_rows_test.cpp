// SPDX-License-Identifier: Apache-2.0
#include "device_rows.hpp"

#include "fake_compiler.hpp"

namespace cubinet {
namespace {

using namespace test;

constexpr SmTarget kSpecific{9, 0, TargetKind::specific};
constexpr SmTarget kBaseline{9, 0, TargetKind::baseline};
constexpr ComputeCapability kHopper{9, 0};

struct Rows {
  std::shared_ptr<ShelfStore> shelf = std::make_shared<ShelfStore>();
  std::shared_ptr<FakeCompiler> compiler;
  FakeEnvironment environment;
  TemplateCatalog templates;
  Library library{{shelf}, {}};
  KernelCache prepared{std::make_shared<const char>(), templates, library};
  CubinSource source{library, environment, CompilePolicy::never, {}, {}};
  DeviceRowReader reader{library, prepared, source};

  explicit Rows(bool has_compiler = true, TemplateCatalog catalog = row_catalog())
      : compiler(has_compiler ? std::make_shared<FakeCompiler>() : nullptr),
        environment(compiler),
        templates(std::move(catalog)) {}

  DeviceRows read() {
    auto rows = reader.rows(kHopper);
    REQUIRE_MESSAGE(rows, (rows ? "" : rows.error().to_line()));
    return *std::move(rows);
  }
};

ShelfBuild scale_build(std::string_view word = "today", SmTarget target = kSpecific) {
  ShelfBuild build{complete_spec(), target, std::string(word)};
  build.has_row = true;
  return build;
}

ShelfBuild published_build(const char* pin, SmTarget target) {
  KernelRow row;
  row.implementation = kPublishedImplementation;
  row.pin = pin;
  ShelfBuild build{published_spec(row), target, pin, CubinOrigin::imported, 1};
  build.has_row = true;
  return build;
}

TEST_CASE("a kernel has one row, that of the build that a request would get") {
  Rows world;
  world.shelf->put(scale_build("yesterday").make());
  world.shelf->put(scale_build("today", kBaseline).make());
  CHECK(world.read().rows.front().row->target == kBaseline);
  world.shelf->put(scale_build("today").make());
  const DeviceRows rows = world.read();
  REQUIRE(rows.rows.size() == 1);
  CHECK(rows.rows.front().row->digest.to_hex() == digest_of(scale_build("today")));
  CHECK(rows.rows.front().record->identity.key() == identify(complete_spec(), kSpecific).key());
  CHECK(rows.stale + rows.foreign + rows.elsewhere.size() == 0);
}

TEST_CASE("what is left out is counted by the reason") {
  Rows world;
  world.shelf->put(scale_build("yesterday").make());
  CHECK(world.read().stale == 1);
  ShelfBuild foreign = scale_build();
  foreign.spec = complete_spec(4);
  foreign.interface_version = 2;
  world.shelf->put(foreign.make());
  world.shelf->put(published_build("aaaa", {10, 0, TargetKind::specific}).make());
  const DeviceRows rows = world.read();
  CHECK(rows.rows.empty());
  CHECK(rows.stale == 1);
  CHECK(rows.foreign == 1);
  REQUIRE(rows.elsewhere.size() == 1);
  CHECK(rows.elsewhere.front().row->pin == "aaaa");
}

TEST_CASE("kernels of two pins are two, and neither gives way to the other") {
  Rows world;
  world.shelf->put(published_build("aaaa", kSpecific).make());
  world.shelf->put(published_build("bbbb", kSpecific).make());
  world.shelf->put(published_build("bbbb", kBaseline).make());
  const DeviceRows rows = world.read();
  REQUIRE(rows.rows.size() == 2);
  CHECK(rows.rows[0].row->target == kSpecific);
  CHECK(rows.rows[1].row->target == kSpecific);
  CHECK(rows.rows[0].row->pin != rows.rows[1].row->pin);
}

TEST_CASE("without a compiler, or without the template, a local build has its row") {
  Rows without_compiler(false);
  without_compiler.shelf->put(scale_build("yesterday").make());
  CHECK(without_compiler.read().rows.size() == 1);
  Rows without_template(true, {});
  without_template.shelf->put(scale_build("yesterday").make());
  CHECK(without_template.read().rows.size() == 1);
}

TEST_CASE("a specification that its template no longer takes is reached by no request and has no row") {
  Rows world;
  ShelfBuild build = scale_build();
  build.spec = factor_spec();  // of a time when there was no parameter `unroll`
  world.shelf->put(build.make());
  const DeviceRows rows = world.read();
  CHECK(rows.rows.empty());
  CHECK(rows.stale == 1);
  const auto status = world.reader.build_status(build.make().record);
  REQUIRE(status);
  CHECK(status->status == BuildStatus::stale);
}

TEST_CASE("a store that does not answer makes the list an error") {
  Rows world;
  world.shelf->put(scale_build().make());
  const auto code = [&] {
    const auto rows = world.reader.rows(kHopper);
    return rows ? ErrorCode::internal : rows.error().code;
  };
  world.shelf->silent = true;
  CHECK(code() == ErrorCode::io);
  // Its rows are read, and then the builds of the kernel without one: another could seem to be the
  // best.
  world.shelf->silent = false;
  world.shelf->lists_only = true;
  CHECK(code() == ErrorCode::io);
  world.shelf->lists_only = false;
  CHECK(world.read().rows.size() == 1);
}

TEST_CASE("a build stands as the judge says, and where nothing can tell that is an error") {
  Rows world;
  const auto status = [&](const ShelfBuild& build) { return world.reader.build_status(build.make().record); };
  CHECK(status(scale_build("today"))->status == BuildStatus::current);
  CHECK(status(scale_build("yesterday"))->status == BuildStatus::stale);
  CHECK(status(published_build("aaaa", kSpecific))->status == BuildStatus::shipped);
  ShelfBuild shipped = scale_build("elsewhere");
  shipped.origin = CubinOrigin::bundle;
  CHECK(status(shipped)->status == BuildStatus::shipped);
  shipped.interface_version = 2;
  CHECK(status(shipped)->status == BuildStatus::foreign);
  ShelfBuild unknown = scale_build();
  unknown.spec.name = "unknown";
  CHECK(status(unknown)->status == BuildStatus::unchecked);
  world.compiler->can_tell = false;
  CHECK_FALSE(status(scale_build("today")));
  CHECK(status(published_build("aaaa", kSpecific)));
}

}  // namespace
}  // namespace cubinet
