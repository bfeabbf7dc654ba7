// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"
#include "support/skip.hpp"

#include <cstdlib>
#include <unistd.h>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("bundles and files that are older than their channel are listed") {
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
  CHECK(contains(served.sandbox.run({"outdated"}).out, "version 7 here; the server has version 8"));
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

TEST_CASE("a pinned channel is listed with the newer version") {
  const ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  REQUIRE(served.sandbox.run({"channel", "pin", served.reference()}).status == 0);
  served.push(8);
  const auto result = served.sandbox.run({"outdated"});
  CHECK(result.status == 1);
  CHECK(contains(result.out, "pinned; the server has version 8"));
}

TEST_CASE("a server that gives no answer, or that must not be contacted, does not count as the newest") {
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

TEST_CASE("refused, missing and unanswered are three verdicts") {
  const ServedChannel served;
  REQUIRE(served.sandbox.run({"pull", served.reference()}).status == 0);
  const auto verdict = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line = {"outdated"};
    line.insert(line.end(), more.begin(), more.end());
    const ToolResult result = served.sandbox.run(line);
    CHECK(result.status == 1);
    return result.out;
  };
  CHECK(contains(verdict({"https://127.0.0.1:9/a#stable", "--offline"}), "; no answer: "));
  CHECK(contains(verdict({"file://" + served.sandbox.path("served") + "#beta"}), "; not found: "));
  served.sandbox.write("home/policy.json", R"({"default":{"trusted_keys":[")" +
                                               ok(SecretKey::generate()).public_key().to_string() + "\"]}}");
  served.push(8);
  const std::string refused = verdict({});
  CHECK(contains(refused, "version 7 here; refused: "));
  CHECK_FALSE(contains(refused, "no answer"));
}
