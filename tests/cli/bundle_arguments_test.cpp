// SPDX-License-Identifier: Apache-2.0
#include "bundle_arguments.hpp"

#include "home_fixture.hpp"

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("what is said of a bundle is in its root, and the clock is not asked") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const std::string bundle = sandbox.path("b.bundle");
  const auto create = [&](std::vector<std::string> options) {
    std::vector<std::string> arguments = {"bundle", "create", "-o", bundle};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return sandbox.run(arguments).status;
  };
  CHECK(create({"--channel", "nightly", "--created", "1000", "--expires", "2000"}) == 0);
  auto listed = run_tool({"bundle", "list", bundle, "--json"}).json();
  CHECK(listed["channel"] == "nightly");
  CHECK(listed["created"] == 1000);
  CHECK(listed["expires"] == 2000);
  CHECK(listed["profile"] == "plain");
  CHECK(listed["targets"] == nlohmann::json{"sm_80", "sm_90a"});
  CHECK(create({}) == 0);
  listed = run_tool({"bundle", "list", bundle, "--json"}).json();
  CHECK(listed["created"] == 0);
  CHECK(listed["expires"] == 0);
  CHECK(create({"--created", "2000", "--expires", "2000"}) == 2);
  CHECK(create({"--profile", "tiny"}) == 2);
  CHECK(create({"--expires", "-1"}) == 2);
}
