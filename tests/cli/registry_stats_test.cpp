// SPDX-License-Identifier: Apache-2.0
#include "artifacts/published_folder.hpp"
#include "home_fixture.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

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
