// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"
#include "support/skip.hpp"

#include <cstdlib>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("what is older here than its channel is told, files of bundles too") {
  const ServedChannel served;
  CHECK(served.sandbox.run({"outdated"}).status == 0);
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  CHECK(served.sandbox.run({"outdated"}).status == 0);
  served.push(8);
  const auto result = served.sandbox.run({"outdated", "--bundle", served.sandbox.path("v7.bundle"),
                                          "--bundle", served.sandbox.path("v8.bundle"), "--json"});
  CHECK(result.status == 1);
  const auto results = result.json()["results"];
  REQUIRE(results.size() == 3);
  CHECK(results[0]["what"] == served.reference());
  CHECK(results[0]["here"] == 7);
  CHECK(results[0]["there"] == 8);
  CHECK(results[0]["outdated"] == true);
  CHECK(results[1]["outdated"] == true);
  CHECK(results[2]["outdated"] == false);
  CHECK(contains(served.sandbox.run({"outdated"}).out, "version 7 here; version 8 is there"));
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  CHECK(served.sandbox.run({"outdated"}).status == 0);
}

TEST_CASE("a home that others keep is compared by those who may only read it") {
  if (::geteuid() != 0) return skip("needs root to become somebody else");
  const ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  served.push(8);
  std::filesystem::permissions(served.sandbox / "", std::filesystem::perms(0755));
  for (const char* folder : {"home", "served"})
    REQUIRE(std::system(("chmod -R a+rX '" + served.sandbox.path(folder) + "'").c_str()) == 0);
  std::filesystem::copy_file(tool_path(), served.sandbox / "cubinet");
  ToolSetting nobody;
  nobody.user = 65534;
  nobody.executable = served.sandbox / "cubinet";
  const auto result = served.sandbox.run({"outdated", "--json"}, nobody);
  CAPTURE(result.err);
  CHECK(result.status == 1);
  REQUIRE(result.json()["results"].size() == 1);
  CHECK(result.json()["results"][0]["here"] == 7);
  CHECK(result.json()["results"][0]["there"] == 8);
}

TEST_CASE("a pinned channel is told with what it does not follow") {
  const ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  REQUIRE(served.sandbox.run({"channel", "pin", served.reference()}).status == 0);
  served.push(8);
  const auto result = served.sandbox.run({"outdated"});
  CHECK(result.status == 1);
  CHECK(contains(result.out, "pinned; version 8 is there"));
}

TEST_CASE("a server that gives no answer, or that nobody may ask, is told and not taken for the newest") {
  const ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  std::filesystem::remove_all(served.sandbox / "served");
  const auto gone = served.sandbox.run({"outdated", "--json"});
  CHECK(gone.status == 1);
  CHECK(gone.json()["results"][0]["here"] == 7);
  CHECK(gone.json()["results"][0]["error"]["code"] == "not_found");
  CHECK(served.sandbox.run({"outdated", "https://host.invalid/a#stable", "--offline"}).status == 1);
  CHECK(served.sandbox.run({"outdated", "https://host.invalid/a"}).status == 2);
}
