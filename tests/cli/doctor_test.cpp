// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet::test;

TEST_CASE("doctor reports every part and changes nothing") {
  const Sandbox sandbox;
  const ToolResult result = sandbox.run({"doctor", "--json"});
  CHECK(result.status == 0);
  const auto document = result.json();
  for (const char* part : {"libraries", "driver", "compiler", "home", "problems"}) {
    CAPTURE(part);
    CHECK(document.contains(part));
  }
  CHECK(document["trust"]["builtin"]["used"] == false);
  CHECK(contains(sandbox.run({"doctor"}).out, "builtin:"));
  CHECK(document["home"]["path"] == sandbox.home().string());
  CHECK_FALSE(document["home"]["file_system"].get<std::string>().empty());
  CHECK(document["home"]["exists"] == false);
  CHECK(document["home"]["usable"] == true);
  CHECK_FALSE(std::filesystem::exists(sandbox.home()));
  CHECK(contains(sandbox.run({"doctor"}).out, "created when it is first used"));
}

TEST_CASE("doctor shows the index and its journal mode where there is a home") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run({"registry", "repair"}).status == 0);
  const auto home = sandbox.run({"doctor", "--json"}).json()["home"];
  CHECK(home["entries"] == 0);
  CHECK(home["sqlite_version"].get<std::string>().substr(0, 2) == "3.");
  const std::string mode = home["journal_mode"];
  CHECK((mode == "delete" || mode == "wal"));
}

TEST_CASE("what is missing is a problem, and an exit status only where it is required") {
  const Sandbox sandbox;
  sandbox.write("libnvrtc.so", "");
  const std::vector<std::string> no_compiler = {"doctor", "--nvrtc", sandbox.path("libnvrtc.so"), "--json"};
  const ToolResult looked = sandbox.run(no_compiler);
  CHECK(looked.status == 0);
  const auto problems = looked.json()["problems"];
  const auto compiler = std::find_if(problems.begin(), problems.end(),
                                     [](const auto& problem) { return problem["part"] == "compiler"; });
  REQUIRE(compiler != problems.end());
  CHECK((*compiler)["code"] == "unavailable");
  CHECK_FALSE((*compiler)["remedy"].get<std::string>().empty());
  auto required = no_compiler;
  required.insert(required.end(), {"--require", "compiler"});
  CHECK_FALSE(looked.json().contains("error"));
  CHECK(sandbox.run(required).status == 3);
  CHECK(sandbox.run(required).json()["error"]["code"] == "unavailable");
  CHECK(sandbox.run({"doctor", "--require", "home"}).status == 0);
  CHECK(sandbox.run({"doctor", "--require", "luck"}).status == 2);
}

TEST_CASE("a home that cannot be used is a problem of doctor") {
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox.home());
  std::filesystem::permissions(sandbox.home(), std::filesystem::perms::all);
  CHECK(sandbox.run({"doctor"}).status == 0);
  CHECK(contains(sandbox.run({"doctor"}).out, "problem: "));
  CHECK(sandbox.run({"doctor", "--require", "home"}).status == 3);
}

TEST_CASE("doctor shows the places that are searched, the toolkit that is named first") {
  const Sandbox sandbox;
  const auto searched = sandbox.run({"doctor", "--json"}).json()["compiler"]["searched"];
  CHECK(searched[0] == std::string(cuda_root()) + "/lib64");
  CHECK(searched[1] == std::string(cuda_root()) + "/lib");
}

TEST_CASE("doctor marks the compiler that is used among all that were found") {
  const Sandbox sandbox;
  const auto compiler = sandbox.run({"doctor", "--json"}).json()["compiler"];
  if (!compiler.contains("identity")) return;  // none here: told by the test above
  std::size_t chosen = 0;
  for (const auto& candidate : compiler["candidates"]) {
    if (candidate["chosen"] == true) ++chosen;
  }
  CHECK(chosen == 1);
  CHECK(compiler["candidates"][0]["chosen"] == true);
  CHECK(compiler["targets"].size() > 5);
}

TEST_CASE("doctor reports each site home, and requires all of them with the home") {
  const Sandbox site;
  REQUIRE(site.run({"registry", "repair"}).status == 0);
  const Sandbox sandbox;
  const std::string none = sandbox.path("none");
  const std::vector<std::string> line = {"doctor",      "--site-home", site.home().string(),
                                         "--site-home", none,          "--json"};
  const ToolResult looked = sandbox.run(line);
  CHECK(looked.status == 0);
  const auto homes = looked.json()["site_homes"];
  REQUIRE(homes.size() == 2);
  CHECK(homes[0]["path"] == site.home().string());
  CHECK(homes[0]["usable"] == true);
  CHECK(homes[0]["entries"] == 0);
  CHECK(homes[1]["usable"] == false);
  CHECK(contains(looked.json()["problems"].dump(), none));
  auto required = line;
  required.insert(required.end(), {"--require", "home"});
  CHECK(sandbox.run(required).status == 3);
  ToolSetting setting;
  setting.environment = {{"CUBINET_SITE_HOMES", site.home().string()}};
  CHECK(contains(sandbox.run({"doctor"}, setting).out, "site home   " + site.home().string()));
  CHECK(sandbox.run({"doctor", "--json"}).json()["site_homes"].empty());
}
