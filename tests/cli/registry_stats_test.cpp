// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"
#include "home_fixture.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("registry stats counts, with the library and journal mode of the index") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const auto stats = sandbox.run({"registry", "stats", "--json"}).json();
  CHECK(stats["entries"] == 3);
  CHECK(stats["cubins"] == 3);
  CHECK(stats["bytes"] > 0);
  CHECK(stats["sqlite_version"].get<std::string>().substr(0, 2) == "3.");
  CHECK_FALSE(stats["journal_mode"].get<std::string>().empty());
  CHECK_FALSE(stats.contains("usable"));
  CHECK(contains(sandbox.run({"registry", "stats"}).out, "journal mode"));
}

TEST_CASE("registry stats tells what a device can use of the attention rows, and by which kind of target") {
  const Sandbox sandbox;
  sound_folder(sandbox / "fmha");
  REQUIRE(sandbox.run({"import-artifacts", sandbox.path("fmha")}).status == 0);
  struct Expected {
    const char* device;
    int usable, specific, family;
  };
  // Pages 16, 32 and 64 for the family, 256 for 10.0, 16 and 256 for 10.3.
  for (const Expected& expected : {Expected{"10.0", 4, 1, 3},
                                   {"sm_103", 4, 2, 2},
                                   {"10.7", 3, 0, 3},
                                   {"9.0", 0, 0, 0},
                                   {"12.0", 0, 0, 0}}) {
    CAPTURE(expected.device);
    const auto stats = sandbox.run({"registry", "stats", "--device", expected.device, "--json"}).json();
    CHECK(stats["usable"] == expected.usable);
    CHECK(stats["by_target"] ==
          nlohmann::json{{"specific", expected.specific}, {"family", expected.family}, {"baseline", 0}});
  }
  const ToolResult text = sandbox.run({"registry", "stats", "--device", "10.3"});
  CHECK(contains(text.out, "4 usable, 2 specific, 2 by family"));
  CHECK(sandbox.run({"registry", "stats", "--device", "sm_103a"}).status == 2);
  CHECK(sandbox.run({"registry", "stats", "--device", ""}).status == 2);
}

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
