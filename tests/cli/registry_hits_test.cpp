// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"
#include "home_fixture.hpp"

using namespace cubinet;
using namespace cubinet::test;

namespace {

// As a program does that finds a kernel in the home.
void use(const Sandbox& sandbox, const std::shared_ptr<const CubinRecord>& record) {
  HomeOptions options;
  options.path = sandbox.home();
  const auto registry = Home::open(options);
  REQUIRE(registry);
  REQUIRE((*registry)->find(record->identity.kernel()));
  REQUIRE((*registry)->load(record));
}

}  // namespace

TEST_CASE("hits tell what was used from what nothing ever asked for") {
  const Sandbox sandbox;
  const auto cubins = three_cubins();
  publish(sandbox, cubins);
  const auto none = sandbox.run({"registry", "stats", "--hits", "--json"}).json()["hits"];
  CHECK(none["asked"] == 0);
  CHECK(none["never_used"].size() == 3);
  use(sandbox, cubins[2].record);
  const auto hits = sandbox.run({"registry", "stats", "--hits", "--json"}).json()["hits"];
  CHECK(hits["asked"] == 1);
  CHECK(hits["found"] == 1);
  CHECK(hits["used"] == 1);
  CHECK(hits["never_used"].size() == 2);
  for (const auto& entry : hits["never_used"])
    CHECK(entry["template"] == "one");
  CHECK(contains(sandbox.run({"registry", "stats", "--hits"}).out, "never used   2 of 3 entries"));
  CHECK_FALSE(sandbox.run({"registry", "stats", "--json"}).json().contains("hits"));
}

TEST_CASE("hits count the cubins of an import that were used") {
  const Sandbox sandbox;
  sound_folder(sandbox / "fmha");
  REQUIRE(sandbox.run({"import-artifacts", sandbox.path("fmha")}).status == 0);
  const auto before = sandbox.run({"registry", "stats", "--hits", "--json"}).json()["hits"]["imports"];
  REQUIRE(before.size() == 1);
  CHECK(before[0]["used"] == 0);
  CHECK(before[0]["last_used"].is_null());
  HomeOptions options;
  options.path = sandbox.home();
  const auto registry = Home::open(options);
  REQUIRE(registry);
  use(sandbox, (*registry)->list()->front());
  CHECK(sandbox.run({"registry", "stats", "--hits", "--json"}).json()["hits"]["imports"][0]["used"] == 1);
  CHECK(contains(sandbox.run({"registry", "stats", "--hits"}).out, "used, last within the hour"));
}

TEST_CASE("looking and counting is no use") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  for (const char* verb : {"list", "stats", "verify"})
    REQUIRE(sandbox.run({"registry", verb}).status == 0);
  REQUIRE(sandbox.run({"registry", "show", "two"}).status == 0);
  CHECK(sandbox.run({"registry", "stats", "--hits", "--json"}).json()["hits"]["asked"] == 0);
  CHECK_FALSE(std::filesystem::exists(sandbox.home() / "uses"));
}
