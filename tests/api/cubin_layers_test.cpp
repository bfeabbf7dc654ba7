// SPDX-License-Identifier: Apache-2.0
#include "cubin_layers.hpp"

#include "support/fake_cubin.hpp"
#include "support/temp_dir.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace cubinet {
namespace {

using test::fake_fingerprint;
using test::make_cubin;
using test::TempDir;

KernelSpec spec() {
  return KernelSpec{"scale", {}}.set("width", 8);
}
constexpr SmTarget kTarget{9, 0, TargetKind::specific};

// A build under a fingerprint made of `build`; images of different builds differ.
Cubin build_of(std::string_view build, std::uint32_t interface_version = 1) {
  test::FakeCubin description;
  description.filler = static_cast<std::uint8_t>(build.front());
  Cubin cubin = make_cubin(spec(), description, build);
  CubinRecord record = *cubin.record;
  record.interface_version = interface_version;
  cubin.record = std::make_shared<const CubinRecord>(std::move(record));
  return cubin;
}

LayerQuery query(std::optional<std::string_view> build, std::uint32_t interface_version = 1) {
  LayerQuery query;
  query.identity = identify(spec(), kTarget);
  query.interface_version = interface_version;
  query.compiler_found = build.has_value();
  if (build) query.fingerprint = fake_fingerprint(*build);
  return query;
}

std::unique_ptr<Registry> registry_at(const std::filesystem::path& home) {
  RegistryOptions options;
  options.home = home;
  auto registry = Registry::open(options);
  REQUIRE(registry);
  return *std::move(registry);
}

std::shared_ptr<const Bundle> bundle_at(const std::filesystem::path& path, std::vector<Cubin> cubins,
                                        std::uint64_t version) {
  const auto files = posix_file_system();
  REQUIRE(create_bundle(*files, path, std::move(cubins), {"test", version}));
  auto bundle = Bundle::open(files, path);
  REQUIRE(bundle);
  return *bundle;
}

std::string digest_of(const std::optional<FoundCubin>& found) {
  return found ? found->cubin.record->digest.to_hex() : "none";
}

TEST_CASE("a local build is used only under the fingerprint of today") {
  const TempDir home;
  CubinLayers layers(registry_at(home / "home"), {}, {});
  layers.keep(build_of("old"));
  CHECK_FALSE(layers.find(query("new")));
  CHECK(layers.explain_miss(query("new")).find("1 local build") != std::string::npos);
  layers.keep(build_of("new"));
  const auto found = layers.find(query("new"));
  CHECK(digest_of(found) == build_of("new").record->digest.to_hex());
  CHECK(found->source == KernelSource::registry);
  CHECK(digest_of(layers.find(query("old"))) == build_of("old").record->digest.to_hex());
}

TEST_CASE("without a compiler a local build is used while its interface version fits") {
  const TempDir home;
  CubinLayers layers(registry_at(home / "home"), {}, {});
  layers.keep(build_of("old", 2));
  CHECK_FALSE(layers.find(query(std::nullopt, 1)));
  CHECK(layers.explain_miss(query(std::nullopt, 1)).find("interface version") != std::string::npos);
  CHECK(layers.find(query(std::nullopt, 2)));
}

TEST_CASE(
    "where the compiler cannot tell what it would build no local build is current, a bundle still fits") {
  const TempDir folder;
  LayerQuery unknown = query("today");
  unknown.fingerprint.reset();
  for (const bool with_home : {true, false}) {
    CubinLayers layers(with_home ? registry_at(folder / "home") : nullptr, {}, {});
    layers.keep(build_of("today"));
    CHECK(layers.find(query("today")));
    CHECK_FALSE(layers.find(unknown));
  }
  CubinLayers bundled(nullptr, {bundle_at(folder / "a.bundle", {build_of("a")}, 1)}, {});
  CHECK(bundled.find(unknown));
}

TEST_CASE("a build kept in memory is used only under the fingerprint of today") {
  CubinLayers layers(nullptr, {}, {});
  layers.keep(build_of("old"));
  CHECK_FALSE(layers.find(query("new")));
  CHECK(layers.find(query("old")));
}

TEST_CASE("that builds stay in memory is said once, however many there are") {
  const TempDir folder;
  registry_at(folder / "home");
  RegistryOptions options;
  options.home = folder / "home";
  options.access = RegistryOptions::Access::read_only;
  int warnings = 0;
  CubinLayers layers(*Registry::open(options), {}, [&](LogLevel level, std::string_view) {
    warnings += level == LogLevel::warning ? 1 : 0;
  });
  for (const char* build : {"a", "b", "c"}) {
    layers.keep(build_of(build));
    CHECK(layers.find(query(build)));
  }
  CHECK(warnings == 1);
}

TEST_CASE("a local build of today goes before a bundle, a bundle before a miss, the newest bundle first") {
  const TempDir folder;
  auto old_bundle = bundle_at(folder / "old.bundle", {build_of("a")}, 1);
  auto new_bundle = bundle_at(folder / "new.bundle", {build_of("b")}, 2);
  CubinLayers layers(registry_at(folder / "home"), {old_bundle, new_bundle}, {});
  auto found = layers.find(query("today"));
  CHECK(digest_of(found) == build_of("b").record->digest.to_hex());
  CHECK(found->source == KernelSource::bundle);
  layers.keep(build_of("today"));
  found = layers.find(query("today"));
  CHECK(digest_of(found) == build_of("today").record->digest.to_hex());
  CHECK(found->source == KernelSource::registry);
}

TEST_CASE("the order in which bundles are attached does not matter, equal versions included") {
  const TempDir folder;
  auto first = bundle_at(folder / "first.bundle", {build_of("a")}, 5);
  auto second = bundle_at(folder / "second.bundle", {build_of("b")}, 5);
  CubinLayers forward(nullptr, {first, second}, {});
  CubinLayers backward(nullptr, {second, first}, {});
  CHECK(digest_of(forward.find(query("today"))) == digest_of(backward.find(query("today"))));
}

TEST_CASE("an imported entry counts as a bundle entry, never as a stale local build") {
  const TempDir folder;
  auto bundle = bundle_at(folder / "x.bundle", {build_of("elsewhere")}, 3);
  auto registry = registry_at(folder / "home");
  const auto report = import_bundle(*bundle, *registry);
  REQUIRE(report);
  CHECK(report->imported == 1);
  CubinLayers layers(std::move(registry), {}, {});
  const auto found = layers.find(query("today"));
  CHECK(digest_of(found) == build_of("elsewhere").record->digest.to_hex());
  CHECK(found->source == KernelSource::registry);
  CHECK(found->cubin.record->origin == CubinOrigin::bundle);
  CHECK(found->cubin.record->version == 3);
  CHECK_FALSE(layers.find(query("today", 2)));
}

TEST_CASE("a bundle entry that is damaged is passed over for the next best and said") {
  const TempDir folder;
  const auto path = folder / "new.bundle";
  auto good = bundle_at(folder / "old.bundle", {build_of("a")}, 1);
  auto damaged = bundle_at(path, {build_of("b")}, 2);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-8, std::ios::end);
    file.write("XXXXXXXX", 8);
  }
  std::string said;
  CubinLayers layers(nullptr, {good, damaged}, [&](LogLevel, std::string_view text) { said += text; });
  CHECK(digest_of(layers.find(query("today"))) == build_of("a").record->digest.to_hex());
  CHECK(said.find("passed over") != std::string::npos);
}

TEST_CASE("what was refused is passed over wherever it lies, the same bytes under a better record are not") {
  const TempDir folder;
  const Cubin honest = build_of("a");
  CubinRecord lie = *honest.record;
  lie.entry_points.front().symbol = "gone";
  const Cubin forged{std::make_shared<const CubinRecord>(lie), honest.image};
  CubinLayers layers(
      registry_at(folder / "home"),
      {bundle_at(folder / "old.bundle", {honest}, 1), bundle_at(folder / "new.bundle", {forged}, 2)}, {});
  RefusedBuilds refused;
  LayerQuery asked = query("today");
  asked.refused = &refused;
  CHECK(layers.find(asked)->cubin.record->entry_points.front().symbol == "gone");
  refused.add(layers.find(asked)->cubin.record);
  CHECK(layers.find(asked)->cubin.record->entry_points == honest.record->entry_points);
  refused.add(honest.record);
  CHECK_FALSE(layers.find(asked));
  CHECK(layers.keep(build_of("today")) == KernelSource::registry);
  CHECK(layers.find(asked)->source == KernelSource::registry);
  refused.add(build_of("today").record);
  CHECK_FALSE(layers.find(asked));

  CubinLayers in_memory(nullptr, {}, {});
  CHECK(in_memory.keep(build_of("today")) == KernelSource::memory);
  CHECK(in_memory.find(query("today")));
  CHECK_FALSE(in_memory.find(asked));
}

TEST_CASE("a refused local build of today is what a compilation would give, one of a bundle is not") {
  RefusedBuilds refused;
  const KernelIdentity identity = identify(spec(), kTarget);
  const auto contains = [&](std::string_view build, ImageKind kind = ImageKind::cubin) {
    return refused.contains_build(identity, kind, fake_fingerprint(build));
  };
  CubinRecord bundled = *build_of("today").record;
  bundled.origin = CubinOrigin::bundle;
  refused.add(std::make_shared<const CubinRecord>(bundled));
  CHECK_FALSE(contains("today"));
  refused.add(build_of("today").record);
  CHECK(contains("today"));
  CHECK_FALSE(contains("tomorrow"));
  CHECK_FALSE(contains("today", ImageKind::ptx));
}

TEST_CASE("without a registry a build is kept in memory") {
  CubinLayers layers(nullptr, {}, {});
  CHECK_FALSE(layers.find(query("today")));
  layers.keep(build_of("today"));
  const auto found = layers.find(query("today"));
  REQUIRE(found);
  CHECK(found->source == KernelSource::memory);
}

}  // namespace
}  // namespace cubinet
