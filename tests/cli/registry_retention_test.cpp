// SPDX-License-Identifier: Apache-2.0
#include "verbs/registry_retention.hpp"

#include "home_fixture.hpp"

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("a kernel is pinned by key or name, listed as pinned, and let go again") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const auto pinned = sandbox.run({"registry", "pin", "one", "--json"}).json();
  CHECK(pinned["keys"].size() == 2);
  const auto listed = sandbox.run({"registry", "list", "--json"}).json();
  CHECK(listed["pins"] == pinned["keys"]);
  for (const auto& entry : listed["entries"])
    CHECK(entry["pinned"] == (entry["template"] == "one"));
  CHECK(contains(sandbox.run({"registry", "list"}).out, "pinned: "));
  CHECK(sandbox.run({"registry", "unpin", "one", "--target", "sm_80", "--json"}).json()["keys"].size() == 1);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["pins"].size() == 1);
  CHECK(sandbox.run({"registry", "pin", "three"}).status == 1);
  CHECK(sandbox.run({"registry", "unpin", "two"}).status == 1);
  CHECK(sandbox.run({"registry", "pin"}).status == 2);
}

TEST_CASE("a key may be pinned before there is a build of it") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  CHECK(sandbox.run({"registry", "pin", "0123456789abcdef"}).status == 0);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["pins"][0] == "0123456789abcdef");
  CHECK(sandbox.run({"registry", "unpin", "0123456789abcdef"}).status == 0);
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["pins"].empty());
}

TEST_CASE("a limit is set, shown and taken away, and a low mark above it is refused") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  CHECK(sandbox.run({"registry", "limit", "--json"}).json()["limit"].is_null());
  CHECK(sandbox.run({"registry", "limit", "1000", "--json"}).json()["limit"] ==
        nlohmann::json{{"high", 1000}, {"low", 800}});
  CHECK(sandbox.run({"registry", "limit", "2G", "--low", "1G"}).status == 0);
  CHECK(sandbox.run({"registry", "limit", "--json"}).json()["limit"]["low"] == 1 << 30);
  CHECK(sandbox.run({"registry", "limit", "1G", "--low", "2G"}).status == 2);
  CHECK(sandbox.run({"registry", "limit", "--low", "2G"}).status == 2);
  CHECK(sandbox.run({"registry", "limit", "much"}).status == 2);
  CHECK(sandbox.run({"registry", "limit", "none"}).status == 0);
  CHECK(contains(sandbox.run({"registry", "limit"}).out, "no limit"));
}
