// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/ok.hpp"
#include "support/server_process.hpp"
#include "tool.hpp"

#include <algorithm>

using namespace cubinet;
using namespace cubinet::test;

namespace {

void write_bundle(const Sandbox& sandbox, const std::string& name, const std::string& channel) {
  BundleOptions options;
  options.channel = channel;
  options.version = 7;
  ok(create_bundle(sandbox.path(name), three_cubins(), options));
}

std::size_t files_below(const std::filesystem::path& folder) {
  const std::filesystem::recursive_directory_iterator entries(folder);
  return static_cast<std::size_t>(
      std::count_if(begin(entries), end(entries), [](const auto& entry) { return entry.is_regular_file(); }));
}

}  // namespace

TEST_CASE("a bundle is pushed to a channel that is named, or its own") {
  const Sandbox sandbox;
  write_bundle(sandbox, "a.bundle", "nightly");
  const std::string served = "file://" + sandbox.path("served");
  const auto own = sandbox.run({"push", sandbox.path("a.bundle"), served, "--json"}).json();
  CHECK(own["channel"] == "nightly");
  CHECK(own["reference"] == sandbox.path("served") + "@sha256:" + own["manifest"].get<std::string>());
  CHECK(sandbox.read("served/refs/nightly") == "sha256:" + own["manifest"].get<std::string>() + "\n");
  const auto named = sandbox.run({"push", sandbox.path("a.bundle"), served + "#stable", "--json"}).json();
  CHECK(named["channel"] == "stable");
  CHECK(named["manifest"] == own["manifest"]);
  // Root, pack, the empty configuration and the manifest, once; two channels.
  CHECK(files_below(sandbox / "served") == 6);
}

TEST_CASE("a plain folder takes a channel as a URL does") {
  const Sandbox sandbox;
  write_bundle(sandbox, "a.bundle", "nightly");
  const auto pushed = sandbox.run(
      {"push", sandbox.path("a.bundle"), "file://" + sandbox.path("served") + "#stable", "--json"});
  REQUIRE_MESSAGE(pushed.status == 0, pushed.err);
  CHECK(pushed.json()["channel"] == "stable");
  CHECK(std::filesystem::exists(sandbox / "served/refs/stable"));
  CHECK_FALSE(std::filesystem::exists(sandbox / "served#stable"));
  ToolSetting inside;
  inside.folder = sandbox / "served";
  CHECK(sandbox.run({"pull", ".#stable", "--dry-run"}, inside).status == 0);
  CHECK(sandbox.run({"push", sandbox.path("a.bundle"), "file://" + sandbox.path("served") + "#a/b"}).status ==
        2);
}

TEST_CASE("a control character in a reference is not printed as such") {
  const Sandbox sandbox;
  write_bundle(sandbox, "a.bundle", "stable");
  const ToolResult pushed =
      sandbox.run({"push", sandbox.path("a.bundle"), "file://" + sandbox.path("a%1bb%20c")});
  CHECK(pushed.status == 0);
  CHECK(std::filesystem::exists(sandbox / "a\x1b"
                                          "b c/refs/stable"));
  CHECK(contains(pushed.out, "a\\x1bb c@sha256:"));
}

TEST_CASE("a bundle without a channel is pushed under its manifest alone, one without a usable one is not") {
  const Sandbox sandbox;
  const std::string served = "file://" + sandbox.path("served");
  write_bundle(sandbox, "a.bundle", "not a tag");
  CHECK(sandbox.run({"push", sandbox.path("a.bundle"), served}).status == 2);
  CHECK_FALSE(std::filesystem::exists(sandbox / "served"));
  write_bundle(sandbox, "a.bundle", "");
  const auto result = sandbox.run({"push", sandbox.path("a.bundle"), served, "--json"});
  REQUIRE(result.status == 0);
  CHECK(result.json()["channel"] == "");
  CHECK_FALSE(std::filesystem::exists(sandbox / "served/refs"));
}

TEST_CASE("the signatures beside a bundle go with it, and nothing else") {
  const Sandbox sandbox;
  write_bundle(sandbox, "a.bundle", "stable");
  sandbox.write("a.bundle.0123456789ABCDEF.minisig", "signed");
  sandbox.write("a.bundle.minisig", "of no key");
  sandbox.write("b.bundle.0123456789ABCDEF.minisig", "of another");
  const auto pushed =
      sandbox.run({"push", sandbox.path("a.bundle"), "file://" + sandbox.path("served"), "--json"}).json();
  CHECK(pushed["signatures"] == 1);
}

TEST_CASE("a bundle is pushed to nginx with a password") {
  const auto nginx = Nginx::start();
  if (!nginx) return;
  const Sandbox sandbox;
  write_bundle(sandbox, "a.bundle", "stable");
  sandbox.write("password", "secret\n");
  const std::vector<std::string> line = {"push", sandbox.path("a.bundle"), nginx->url("/private/k"),
                                         "--plain-http", nginx->authority()};
  const auto stranger = sandbox.run(line);
  CHECK(stranger.status == 3);
  CHECK(contains(stranger.err, "401"));
  std::vector<std::string> known = line;
  known.insert(known.end(), {"--user", "reader", "--password-file", sandbox.path("password")});
  CHECK(sandbox.run(known).status == 0);
  CHECK(std::filesystem::exists(nginx->served() / "private/k/refs/stable"));
}

TEST_CASE("what cannot be pushed is told") {
  const Sandbox sandbox;
  write_bundle(sandbox, "a.bundle", "stable");
  sandbox.write("damaged", "this is no bundle");
  const std::string served = "file://" + sandbox.path("served");
  CHECK(sandbox.run({"push", sandbox.path("a.bundle"), sandbox.path("served")}).status == 2);
  CHECK(sandbox.run({"push", sandbox.path("absent"), served}).status == 2);
  CHECK(sandbox.run({"push", sandbox.path("damaged"), served}).status != 0);
  CHECK(sandbox.run({"push", sandbox.path("a.bundle"), "ftp://host"}).status == 2);
  CHECK(sandbox.run({"push", sandbox.path("a.bundle"), served + "@sha256:" + std::string(64, 'a')}).status ==
        2);
  CHECK(sandbox.run({"push", sandbox.path("a.bundle"), "https://host.invalid/a", "--offline"}).status == 3);
  CHECK_FALSE(std::filesystem::exists(sandbox / "served"));
}
