// SPDX-License-Identifier: Apache-2.0
#include "support/text.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet::test;

TEST_CASE("kernels of a site home are used, and nothing is written to it") {
  const Sandbox site;
  const std::vector<std::string> kernel = {"rms_norm", "-p", "hidden_size=256", "-p", "dtype=bf16"};
  const auto with = [&](std::vector<std::string> line, const std::vector<std::string>& more) {
    line.insert(line.end(), kernel.begin(), kernel.end());
    line.insert(line.end(), more.begin(), more.end());
    return line;
  };
  REQUIRE(site.run(with({"compile"}, {"--target", "sm_90a"})).status == 0);
  const auto files = [&site] {
    std::vector<std::pair<std::string, std::filesystem::file_time_type>> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(site.home()))
      found.emplace_back(entry.path().string(), entry.last_write_time());
    std::sort(found.begin(), found.end());
    return found;
  };
  const auto before = files();
  const Sandbox sandbox;
  const ToolResult found = sandbox.run(with({"--site-home", site.home().string(), "compile"},
                                            {"--target", "sm_90a", "--json", "-o", sandbox.path("k")}));
  REQUIRE_MESSAGE(found.status == 0, found.err);
  CHECK(found.json()["results"][0]["source"] == "registry");
  const ToolResult made =
      sandbox.run(with({"compile"}, {"--target", "sm_80", "--site-home", site.home().string(), "--json"}));
  CHECK(made.json()["results"][0]["source"] == "compiled");
  CHECK(sandbox.run({"registry", "list", "--json"}).json()["entries"].size() == 1);
  CHECK(files() == before);
  const ToolResult into =
      sandbox.run(with({"compile"}, {"--target", "sm_80", "--site-home", site.home().string(), "-o",
                                     (site.home() / "k").string()}));
  CHECK(into.status == 2);
  CHECK(contains(into.err, "it is in the home"));
}

TEST_CASE("a site home that is missing or has no name is an error that names the option") {
  const Sandbox sandbox;
  const ToolResult missing = sandbox.run({"explain", "rms_norm", "-p", "hidden_size=256", "--device", "9.0",
                                          "--site-home", sandbox.path("none")});
  CHECK(missing.status == 3);
  CHECK(contains(missing.err, "a site home cannot be used"));
  CHECK(contains(missing.err, "with --site-home or CUBINET_SITE_HOMES"));
  CHECK_FALSE(std::filesystem::exists(sandbox.path("none")));
  CHECK(sandbox.run({"doctor", "--site-home", ""}).status == 2);
}

TEST_CASE("site homes come from the environment, unless the command names others") {
  const Sandbox site;
  REQUIRE(site.run({"registry", "repair"}).status == 0);
  const Sandbox sandbox;
  ToolSetting setting;
  setting.environment = {{"CUBINET_SITE_HOMES", sandbox.path("none")}};
  const auto with_variable = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line = {"explain", "rms_norm",   "-p",       "hidden_size=256",
                                     "-p",      "dtype=bf16", "--device", "9.0"};
    line.insert(line.end(), more.begin(), more.end());
    return sandbox.run(line, setting);
  };
  CHECK(contains(with_variable({}).err, "a site home cannot be used"));
  CHECK(with_variable({"--site-home", site.home().string()}).status == 0);
}

TEST_CASE("a command that is printed names the site homes again") {
  const Sandbox site;
  REQUIRE(site.run({"registry", "repair"}).status == 0);
  const Sandbox sandbox;
  const ToolResult explained =
      sandbox.run({"explain", "rms_norm", "-p", "hidden_size=256", "-p", "dtype=bf16", "--device", "9.0",
                   "--site-home", site.home().string(), "--site-home", site.home().string()});
  const std::string again = " --site-home " + site.home().string();
  CHECK(contains(explained.out, again + again));
}
