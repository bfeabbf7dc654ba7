// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/code_comparison.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

KernelSpec named_spec(const std::string& name) {
  KernelSpec spec;
  spec.name = name;
  return spec;
}

// Returns a bundle of these builds in a file of the folder.
std::shared_ptr<Bundle> bundle_of(const TempDir& folder, const std::string& name, std::vector<Cubin> cubins) {
  const std::string file = (folder / name).string();
  REQUIRE(create_bundle(file, std::move(cubins), {name, 1}));
  return ok(Bundle::open(file));
}

Cubin build_of(std::uint8_t filler, const std::string& build) {
  FakeCubin description;
  description.filler = filler;
  return make_cubin(named_spec("one"), description, build);
}

}  // namespace

TEST_CASE("builds of other fingerprints with the same code are the same, and a kernel is its identity") {
  const TempDir folder;
  const auto first = bundle_of(folder, "a", {build_of(1, "before"), make_cubin(named_spec("gone"))});
  const auto second = bundle_of(folder, "b", {build_of(1, "after"), make_cubin(named_spec("new"))});
  const CodeComparison compared = ok(compare_code(*first, *second));
  CHECK(compared.same.size() == 1);
  CHECK(compared.changed.empty());
  REQUIRE(compared.only_in_first.size() == 1);
  CHECK(compared.only_in_first.front()->identity == make_cubin(named_spec("gone")).record->identity);
  CHECK(compared.only_in_second.size() == 1);
  CHECK_FALSE(compared.equal());
}

TEST_CASE("other code, and another launch of the same code, are named by kernel and part") {
  const TempDir folder;
  Cubin other_launch = build_of(1, "after");
  auto record = std::make_shared<CubinRecord>(*other_launch.record);
  record->entry_points.front().dynamic_shared_bytes = 4096;
  other_launch.record = record;
  const auto base = bundle_of(folder, "a", {build_of(1, "before")});
  const auto launch = ok(compare_code(*base, *bundle_of(folder, "b", {other_launch})));
  REQUIRE(launch.changed.size() == 1);
  CHECK(to_text(launch.changed.front().second) == "kernel: launch");
  const auto code = ok(compare_code(*base, *bundle_of(folder, "c", {build_of(2, "after")})));
  REQUIRE(code.changed.size() == 1);
  CHECK(to_text(code.changed.front().second) == "kernel: code");
  CHECK(describe(code.changed.front().second) ==
        nlohmann::json::parse(R"([{"kernel": "kernel", "parts": ["code"]}])"));
}

TEST_CASE("of several builds each has to have one like it in the other bundle") {
  const TempDir folder;
  const auto both = bundle_of(folder, "a", {build_of(1, "x"), build_of(2, "y")});
  const auto swapped = bundle_of(folder, "b", {build_of(2, "x"), build_of(1, "y")});
  const auto one = bundle_of(folder, "c", {build_of(2, "z")});
  CHECK(ok(compare_code(*both, *swapped)).equal());
  CHECK(ok(compare_code(*both, *one)).changed.size() == 1);
  CHECK(ok(compare_code(*one, *both)).changed.size() == 1);
}

TEST_CASE("kernels have the names of their entry points, whatever their symbols") {
  const TempDir folder;
  const auto named = [](const std::string& symbol, const std::string& build) {
    FakeCubin description;
    description.kernels = {{symbol}, {"extra"}};
    Cubin cubin = make_cubin(named_spec("one"), description, build);
    auto record = std::make_shared<CubinRecord>(*cubin.record);
    record->entry_points.front().name = "scale<float>";
    cubin.record = record;
    return cubin;
  };
  const auto first = bundle_of(folder, "a", {named("_Z5scaleIfE", "x")});
  const auto second = bundle_of(folder, "b", {named("_ZN1a5scaleIfE", "y")});
  CHECK(ok(compare_code(*first, *second)).equal());
  const auto third = bundle_of(folder, "c", {make_cubin(named_spec("one"))});
  const auto compared = ok(compare_code(*first, *third));
  REQUIRE(compared.changed.size() == 1);
  CHECK(to_text(compared.changed.front().second) ==
        "extra: only in first; scale<float>: only in first; kernel: only in second");
}

TEST_CASE("of PTX the bytes are compared") {
  const TempDir folder;
  const auto ptx = [](const std::string& text, const std::string& build) {
    const ByteView bytes = as_bytes(text);
    Cubin cubin = make_cubin(named_spec("one"), {}, build);
    auto record = std::make_shared<CubinRecord>(*cubin.record);
    record->kind = ImageKind::ptx;
    record->digest = sha256(bytes);
    record->size = bytes.size();
    return Cubin{record, std::make_shared<const Bytes>(bytes.begin(), bytes.end())};
  };
  const auto first = bundle_of(folder, "a", {ptx(".version 8.0", "x")});
  CHECK(ok(compare_code(*first, *bundle_of(folder, "b", {ptx(".version 8.0", "y")}))).equal());
  const auto other = ok(compare_code(*first, *bundle_of(folder, "c", {ptx(".version 8.1", "y")})));
  REQUIRE(other.changed.size() == 1);
  CHECK(to_text(other.changed.front().second) == "module: image");
}
