// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("report writes a page about the home, and prints its name and size") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const ToolResult written = sandbox.run({"report", "-o", sandbox.path("home.html"), "--json"});
  CHECK(written.status == 0);
  const std::string page = sandbox.read("home.html");
  CHECK(written.json()["report"] == sandbox.path("home.html"));
  CHECK(written.json()["bytes"] == page.size());
  CHECK(contains(page, "<title>Home " + sandbox.home().string()));
  CHECK(contains(sandbox.run({"report", "-o", sandbox.path("home.html")}).out, "home.html: "));
}

TEST_CASE("report writes to stdout for a dash, but not beside JSON") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  const ToolResult page = sandbox.run({"report", "-o", "-"});
  CHECK(page.status == 0);
  CHECK(page.out.starts_with("<!DOCTYPE html>\n"));
  CHECK(page.out.ends_with("</html>\n"));
  CHECK(sandbox.run({"report", "-o", "-", "--json"}).status == 2);
}

TEST_CASE("report takes several subjects, and replaces none of them") {
  const Sandbox sandbox;
  publish(sandbox, three_cubins());
  REQUIRE(sandbox.run({"bundle", "create", "-o", sandbox.path("b.bundle")}).status == 0);
  sandbox.write("w.workload", "{\"cubinet_workload\":1,\"lines\":0}\n");
  const ToolResult page = sandbox.run(
      {"report", sandbox.path("w.workload"), sandbox.path("b.bundle"), sandbox.home().string(), "-o", "-"});
  CHECK(page.status == 0);
  CHECK(contains(page.out, "Report on 3 subjects"));
  CHECK(sandbox.run({"report", sandbox.path("b.bundle"), "-o", sandbox.path("b.bundle")}).status == 2);
  CHECK(sandbox.run({"report", "-o", (sandbox.home() / "page.html").string()}).status == 2);
}

TEST_CASE("report refuses a subject of another kind, and a home that does not exist") {
  const Sandbox sandbox;
  sandbox.write("text", "neither");
  const ToolResult refused = sandbox.run({"report", sandbox.path("text"), "-o", sandbox.path("page.html")});
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "name a home, a bundle, a workload or the results of a benchmark"));
  CHECK_FALSE(std::filesystem::exists(sandbox / "page.html"));
  CHECK(sandbox.run({"report", "-o", sandbox.path("page.html")}).status == 3);
  CHECK(sandbox.run({"report"}).status == 2);
}
