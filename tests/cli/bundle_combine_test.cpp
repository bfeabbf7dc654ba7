// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("bundles are merged, with the channel of the first and the highest version") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  REQUIRE(create_bundle(sandbox.path("a"), {cubins[0], cubins[1]}, {"channel", 5}));
  REQUIRE(create_bundle(sandbox.path("b"), {cubins[1], cubins[2]}, {"other", 9}));
  const auto merge = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"bundle", "merge",           sandbox.path("a"), sandbox.path("b"),
                                          "-o",     sandbox.path("c"), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  const ToolResult merged = merge({});
  CHECK(merged.status == 0);
  CHECK(merged.json()["kernels"] == 3);
  CHECK(merged.json()["channel"] == "channel");
  CHECK(merged.json()["version"] == 9);
  CHECK(merged.json()["profile"] == "plain");
  CHECK(run_tool({"bundle", "verify", sandbox.path("c")}).status == 0);
  const auto changed = merge({"--channel", "new", "--bundle-version", "2", "--profile", "ship"}).json();
  CHECK(changed["channel"] == "new");
  CHECK(changed["version"] == 2);
  CHECK(changed["profile"] == "ship");
  CHECK(run_tool({"bundle", "verify", sandbox.path("c")}).status == 0);
}

TEST_CASE("a subset holds what was chosen, and nothing is written where nothing fits") {
  const Sandbox sandbox;
  REQUIRE(create_bundle(sandbox.path("a"), three_cubins(), {"channel", 5}));
  const auto subset = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"bundle", "subset",          sandbox.path("a"),
                                          "-o",     sandbox.path("c"), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  CHECK(subset({"--target", "sm_80"}).json()["kernels"] == 1);
  const auto listed = run_tool({"bundle", "list", sandbox.path("c"), "--json"}).json();
  CHECK(listed["targets"] == nlohmann::json{"sm_80"});
  CHECK(listed["version"] == 5);
  CHECK(subset({"--function", "kernel"}).json()["kernels"] == 3);
  CHECK(subset({"--types", "float7"}).status == 2);
  const ToolResult none = subset({"--template", "nothing"});
  CHECK(none.status == 1);
  CHECK(none.json()["error"]["code"] == "not_found");
  CHECK(run_tool({"bundle", "subset", sandbox.path("a"), "-o", sandbox.path("a")}).status == 2);
}
