// SPDX-License-Identifier: Apache-2.0
#include "support/fake_cubin.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/base/file_system.hpp>
#include <cubinet/session/bundle_comparison.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

Cubin cubin_of(const std::string& name, const std::string& build = "build", std::uint8_t filler = 1) {
  KernelSpec spec;
  spec.name = name;
  FakeCubin description;
  description.filler = filler;
  return make_cubin(spec, description, build);
}

std::string bundle_file(const TempDir& folder, const std::string& name, std::vector<Cubin> cubins,
                        std::uint64_t version) {
  const std::string file = (folder / name).string();
  REQUIRE(create_bundle(file, std::move(cubins), {name, version}));
  return file;
}

}  // namespace

TEST_CASE("builds are compared by identity and fingerprint, whatever the version of the bundle") {
  const TempDir folder;
  const auto first = ok(open_sound_bundle(
      {}, bundle_file(folder, "a", {cubin_of("same"), cubin_of("gone"), cubin_of("changed")}, 1)));
  const auto second = ok(open_sound_bundle(
      {}, bundle_file(folder, "b", {cubin_of("same"), cubin_of("new"), cubin_of("changed", "build", 2)}, 2)));
  const BundleComparison compared = ok(compare_bundles(*first, *second));
  REQUIRE(compared.only_in_first.size() == 1);
  CHECK(compared.only_in_first.front()->identity == cubin_of("gone").record->identity);
  REQUIRE(compared.only_in_second.size() == 1);
  CHECK(compared.only_in_second.front()->identity == cubin_of("new").record->identity);
  REQUIRE(compared.changed.size() == 1);
  CHECK(compared.changed.front()->digest == cubin_of("changed", "build", 2).record->digest);
  CHECK(compared.differences() == 3);
  const auto document = nlohmann::json::parse(to_json(compared));
  CHECK(document["equal"] == false);
  CHECK(document["versions"] == nlohmann::json{1, 2});
  CHECK(document["changed"].size() == 1);
  CHECK(ok(compare_bundles(*first, *first)).differences() == 0);
}

TEST_CASE("a damaged bundle is not compared") {
  const TempDir folder;
  const std::string file = bundle_file(folder, "a", {cubin_of("one")}, 1);
  Bytes content = ok(posix_file_system()->read(file, std::uint64_t{1} << 20));
  content.back() ^= std::byte{1};
  write_file(file, content);
  const auto refused = open_sound_bundle({}, file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::corruption);
  CHECK(refused.error().message.find("is damaged and not compared") != std::string::npos);
}
