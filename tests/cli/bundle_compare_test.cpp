// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("bundles of the same kernels do not differ, whatever their version and profile") {
  const Sandbox sandbox;
  REQUIRE(create_bundle(sandbox.path("a"), three_cubins(), {"a", 5}));
  REQUIRE(create_bundle(sandbox.path("b"), three_cubins(), {"b", 6, 1, 2, BundleProfile::ship}));
  const ToolResult same = run_tool({"bundle", "diff", sandbox.path("a"), sandbox.path("b"), "--json"});
  CHECK(same.status == 0);
  CHECK(same.json()["equal"] == true);
  CHECK(same.json()["versions"] == nlohmann::json{5, 6});
}

TEST_CASE("what one of two bundles has alone, and builds of other bytes, are printed, and the status is 1") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  FakeCubin other;
  other.filler = 77;
  REQUIRE(
      create_bundle(sandbox.path("a"), {cubins[0], make_cubin(named_spec("same"), {}, "build")}, {"a", 5}));
  REQUIRE(create_bundle(sandbox.path("b"), {cubins[1], make_cubin(named_spec("same"), other, "build")},
                        {"a", 6}));
  const ToolResult differ = run_tool({"bundle", "diff", sandbox.path("a"), sandbox.path("b")});
  CHECK(differ.status == 1);
  CHECK(contains(differ.out, "3 differences"));
  const auto document = run_tool({"bundle", "diff", sandbox.path("a"), sandbox.path("b"), "--json"}).json();
  CHECK(document["only_in_first"].size() == 1);
  CHECK(document["only_in_second"].size() == 1);
  CHECK(document["changed"].size() == 1);
  CHECK(document["changed"][0]["template"] == "same");
}

TEST_CASE("a damaged bundle is not compared, and not equal to itself") {
  const Sandbox sandbox;
  BundleOptions options{"a", 5};
  options.profile = BundleProfile::plain;
  REQUIRE(create_bundle(sandbox.path("a"), three_cubins(), options));
  std::filesystem::copy_file(sandbox / "a", sandbox / "b");
  flip_bit(sandbox / "b", std::filesystem::file_size(sandbox / "b") - 300);
  REQUIRE(run_tool({"bundle", "verify", sandbox.path("b")}).status == 1);
  for (const std::vector<std::string>& files : {std::vector{sandbox.path("a"), sandbox.path("b")},
                                                std::vector{sandbox.path("b"), sandbox.path("a")}}) {
    for (const bool code : {false, true}) {
      std::vector<std::string> line = {"bundle", "diff", files[0], files[1]};
      if (code) line.emplace_back("--code");
      const ToolResult differ = run_tool(line);
      CHECK(differ.status == 1);
      CHECK(contains(differ.err, "is damaged and not compared"));
    }
  }
}

TEST_CASE("with an option the code of kernels is compared, whatever their fingerprints") {
  const Sandbox sandbox;
  FakeCubin other;
  other.filler = 77;
  REQUIRE(create_bundle(sandbox.path("a"),
                        {make_cubin(named_spec("same"), {}, "before"), make_cubin(named_spec("other")),
                         make_cubin(named_spec("gone"))},
                        {"a", 5}));
  REQUIRE(create_bundle(sandbox.path("b"),
                        {make_cubin(named_spec("same"), {}, "after"), make_cubin(named_spec("other"), other)},
                        {"a", 6}));
  const std::vector<std::string> line = {"bundle", "diff", "--code", sandbox.path("a"), sandbox.path("b")};
  const ToolResult differ = run_tool(line);
  CHECK(differ.status == 1);
  CHECK(contains(differ.out, "(kernel: code)"));
  CHECK(contains(differ.out,
                 "the same code in 1 kernel, other code in 1, only in the first 1, only in the second 0"));
  const auto document =
      run_tool({"bundle", "diff", "--code", sandbox.path("a"), sandbox.path("b"), "--json"}).json();
  CHECK(document["same"][0]["template"] == "same");
  CHECK(document["changed"][0]["template"] == "other");
  CHECK(document["changed"][0]["differences"][0]["parts"] == nlohmann::json{"code"});
  CHECK(document["only_in_first"][0]["template"] == "gone");
  CHECK(document["versions"] == nlohmann::json{5, 6});
  CHECK(document["equal"] == false);
  CHECK(run_tool({"bundle", "diff", "--code", sandbox.path("a"), sandbox.path("a")}).status == 0);
  CHECK(run_tool({"bundle", "diff", "--code", sandbox.path("a"), sandbox.path("missing")}).status == 2);
}

TEST_CASE("the root is written as it stands at the beginning of the bundle") {
  const Sandbox sandbox;
  REQUIRE(create_bundle(sandbox.path("a"), three_cubins(), {"a", 5}));
  const ToolResult written =
      run_tool({"bundle", "root", sandbox.path("a"), "-o", sandbox.path("root"), "--json"});
  CHECK(written.status == 0);
  const std::string root = sandbox.read("root");
  CHECK(written.json()["bytes"] == root.size());
  CHECK(written.json()["sha256"] == sha256(as_bytes(root)).to_hex());
  CHECK(sandbox.read("a").substr(0, root.size()) == root);
  CHECK(run_tool({"bundle", "root", sandbox.path("a"), "-o", sandbox.path("a")}).status == 2);
}
