// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "tool.hpp"

#include <cubinet/base/text.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

namespace {

std::string key_of(const Cubin& cubin) {
  return cubin.record->identity.key().to_string();
}

std::vector<Cubin> bundle_of_three(const Sandbox& sandbox) {
  const auto cubins = three_cubins();
  REQUIRE(create_bundle(sandbox.path("b.bundle"), cubins, {"name", 5}));
  return cubins;
}

ToolResult extract(const Sandbox& sandbox, const std::vector<std::string>& more) {
  std::vector<std::string> line = {"bundle", "extract", sandbox.path("b.bundle")};
  line.insert(line.end(), more.begin(), more.end());
  ToolSetting setting;
  setting.folder = sandbox / ".";
  return sandbox.run(line, setting);
}

}  // namespace

TEST_CASE("a kernel is taken out of a bundle by key or name, with the bytes that were put in") {
  const Sandbox sandbox;
  const auto cubins = bundle_of_three(sandbox);
  const ToolResult by_key = extract(sandbox, {key_of(cubins[0]), "-o", sandbox.path("one.cubin"), "--json"});
  CAPTURE(by_key.out);
  REQUIRE(by_key.status == 0);
  CHECK(by_key.json()["file"] == sandbox.path("one.cubin"));
  CHECK(sandbox.read("one.cubin") == as_text(*cubins[0].image));
  CHECK_FALSE(std::filesystem::exists(sandbox / "one.cubin.record"));
  CHECK(extract(sandbox, {"two"}).status == 0);
  CHECK(sandbox.read("two.sm_90a." + key_of(cubins[2]) + ".cubin") == as_text(*cubins[2].image));
  CHECK(extract(sandbox, {"one", "--target", "sm_80", "-o", sandbox.path("eighty.cubin")}).status == 0);
  CHECK(sandbox.read("eighty.cubin") == as_text(*cubins[1].image));
}

TEST_CASE("what is taken out with its record makes a bundle again") {
  const Sandbox sandbox;
  const auto cubins = bundle_of_three(sandbox);
  const std::string file = sandbox.path("two.cubin");
  REQUIRE(extract(sandbox, {"two", "-o", file, "--record"}).status == 0);
  REQUIRE(sandbox.run({"bundle", "create", file, "-o", sandbox.path("c.bundle")}).status == 0);
  const auto listed = run_tool({"bundle", "list", sandbox.path("c.bundle"), "--json"}).json();
  CHECK(listed["records"][0]["key"] == key_of(cubins[2]));
}

TEST_CASE("the name of a kernel chooses no folder") {
  const Sandbox sandbox;
  const auto named = [](const std::string& name) {
    KernelSpec spec;
    spec.name = name;
    return make_cubin(spec);
  };
  const std::vector<Cubin> cubins = {named("../../outside"), named(sandbox.path("absolute")),
                                     named(".hidden\x1b")};
  REQUIRE(create_bundle(sandbox.path("b.bundle"), cubins, {"name", 5}));
  std::filesystem::create_directories(sandbox / "a/b");
  for (const Cubin& cubin : cubins) {
    const ToolResult extracted = extract(sandbox, {key_of(cubin), "-o", sandbox.path("a/b"), "--json"});
    REQUIRE_MESSAGE(extracted.status == 0, extracted.err);
    const std::filesystem::path file(extracted.json()["file"].get<std::string>());
    CHECK(file.parent_path() == sandbox / "a/b");
    CHECK_FALSE(file.filename().string().starts_with('.'));
    CHECK(is_printable(file.filename().string()));
  }
}

TEST_CASE("a kernel that is not there, is several, or is damaged writes nothing and says why") {
  const Sandbox sandbox;
  bundle_of_three(sandbox);
  const std::string file = sandbox.path("out.cubin");
  const ToolResult missing = extract(sandbox, {"three", "-o", file});
  CHECK(missing.status == 1);
  CHECK(contains(missing.err, "holds no kernel of the key or name 'three'"));
  const ToolResult several = extract(sandbox, {"one", "-o", file});
  CHECK(several.status == 2);
  CHECK(contains(several.err, "for sm_80"));
  CHECK(contains(several.err, "--target"));
  CHECK(extract(sandbox, {"two", "-o", sandbox.path("b.bundle")}).status == 2);
  const auto size = std::filesystem::file_size(sandbox / "b.bundle");
  std::size_t refused = 0;
  for (const char* target : {"sm_80", "sm_90a"}) {
    flip_bit(sandbox / "b.bundle", size - 1);
    refused += extract(sandbox, {"one", "--target", target, "-o", file}).status == 1 ? 1U : 0U;
    flip_bit(sandbox / "b.bundle", size - 1);
  }
  flip_bit(sandbox / "b.bundle", size - 1);  // the last image is one of three
  refused += extract(sandbox, {"two", "-o", sandbox.path("two.cubin")}).status == 1 ? 1U : 0U;
  CHECK(refused == 1);
}
