// SPDX-License-Identifier: Apache-2.0
#include "unwilling_home.hpp"

#include "support/skip.hpp"
#include "tool.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/spec/cubin_elf.hpp>

#include <doctest/doctest.h>

using namespace cubinet::test;

namespace {

ToolResult compile_norm(const Sandbox& sandbox, const std::vector<std::string>& more,
                        const ToolSetting& setting = {}) {
  std::vector<std::string> line = {"compile", "rms_norm", "-p", "hidden_size=256"};
  line.insert(line.end(), more.begin(), more.end());
  return sandbox.run(line, setting);
}

}  // namespace

TEST_CASE("a home that is not usable is warned of once and does not stop a compilation to a file") {
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox.home());
  std::filesystem::permissions(sandbox.home(), std::filesystem::perms::all);
  const std::string pattern = sandbox.path("n.{target}");
  const ToolResult result = compile_norm(sandbox, {"--target", "sm_80,sm_90a", "-o", pattern});
  CHECK(result.status == 0);
  CHECK(std::filesystem::exists(sandbox / "n.sm_80"));
  const std::size_t first = result.err.find("warning");
  REQUIRE(first != std::string::npos);
  CHECK(result.err.find("warning", first + 1) == std::string::npos);
  CHECK(std::filesystem::is_empty(sandbox.home()));
  const ToolResult lost = compile_norm(sandbox, {"--target", "sm_80", "--json"});
  CHECK(lost.status == 3);
  CHECK(lost.json()["error"]["code"] == "unavailable");
}

TEST_CASE("a home of root serves an unprivileged user what it holds") {
  const Sandbox sandbox;
  REQUIRE(compile_norm(sandbox, {"--target", "sm_90a"}).status == 0);
  std::filesystem::permissions(sandbox.home(), std::filesystem::perms(0755));
  const auto nobody = as_nobody(sandbox);
  if (!nobody) return skip("it needs root, and NVRTC for another user");
  const ToolResult result =
      compile_norm(sandbox, {"--target", "sm_90a", "-o", sandbox.path("n.cubin"), "--json"}, *nobody);
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(result.json()["results"][0]["source"] == "registry");
}

TEST_CASE("compile into a home that cannot be written warns once with the reason and keeps nothing") {
  const Sandbox sandbox;
  REQUIRE(compile_norm(sandbox, {"--target", "sm_90a", "--json"}).json()["results"][0]["kept"] == true);
  const ReadOnlyHome home(sandbox);
  if (!home.read_only()) return skip("nothing may be mounted here");
  const std::string pattern = sandbox.path("n.{target}");
  const ToolResult result =
      compile_norm(sandbox, {"--target", "sm_90a,sm_80,sm_86", "-o", pattern, "--json"});
  CAPTURE(result.err);
  CHECK(result.status == 0);
  CHECK(warnings_in(result.err) == 1);
  CHECK(contains(result.err, "the home '" + sandbox.home().string() +
                                 "' cannot be written: Read-only file system (name another folder with"));
  const auto results = result.json()["results"];
  CHECK(results[0]["kept"] == true);  // it was there before
  CHECK(results[1]["kept"] == false);
  CHECK(results[2]["kept"] == false);
  CHECK(std::filesystem::exists(sandbox / "n.sm_80"));
  // A kernel that the home already has needs no warning.
  const ToolResult found = compile_norm(sandbox, {"--target", "sm_90a"});
  CHECK(found.status == 0);
  CHECK(found.err.empty());
  const ToolResult lost = compile_norm(sandbox, {"--target", "sm_80", "--json"});
  CHECK(lost.status == 3);
  CHECK(contains(lost.json()["error"]["message"].get<std::string>(), "would be lost"));
}

TEST_CASE("a result that a home of ones own cannot take is not said to be done") {
  const Sandbox sandbox;
  const auto nobody = as_nobody(sandbox);
  if (!nobody) return skip("it needs root, and NVRTC for another user");
  REQUIRE(sandbox.run({"registry", "repair"}, *nobody).status == 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox.home()))
    std::filesystem::permissions(entry.path(), std::filesystem::perms(0555));
  std::filesystem::permissions(sandbox.home(), std::filesystem::perms(0555));
  const ToolResult lost = compile_norm(sandbox, {"--target", "sm_90a", "--json"}, *nobody);
  CAPTURE(lost.err);
  CHECK(lost.status == 3);
  CHECK(lost.json()["error"]["code"] == "unavailable");
  const ToolResult written =
      compile_norm(sandbox, {"--target", "sm_90a", "-o", sandbox.path("n.cubin"), "--json"}, *nobody);
  CHECK(written.status == 0);
  CHECK(warnings_in(written.err) == 1);
  CHECK(contains(written.err, "cannot be written: Permission denied"));
  CHECK(written.json()["results"][0]["kept"] == false);
}

TEST_CASE("a build that a home cannot keep is written to its file and not said to be done") {
  const Sandbox sandbox;
  const auto nobody = as_nobody(sandbox);
  if (!nobody) return skip("it needs root, and NVRTC for another user");
  REQUIRE(sandbox.run({"registry", "repair"}, *nobody).status == 0);
  std::filesystem::permissions(sandbox.home() / "cubins", std::filesystem::perms(0555));
  const ToolResult kept =
      compile_norm(sandbox, {"--target", "sm_90a", "-o", sandbox.path("n.cubin"), "--json"}, *nobody);
  CAPTURE(kept.out);
  CHECK(kept.status == 3);
  CHECK(contains(kept.json()["error"]["message"].get<std::string>(), "the home could not keep it"));
  CHECK(contains(kept.json()["error"]["message"].get<std::string>(), "Permission denied"));
  CHECK(kept.json()["results"][0]["file"] == sandbox.path("n.cubin"));
  CHECK(cubinet::inspect_cubin(cubinet::as_bytes(sandbox.read("n.cubin"))));
  const ToolResult lost = compile_norm(sandbox, {"--target", "sm_90a", "--json"}, *nobody);
  CHECK(lost.status == 3);
  CHECK(contains(lost.json()["error"]["message"].get<std::string>(), "Permission denied"));
  CHECK(lost.json()["results"].empty());
}

TEST_CASE("a build that a full home cannot keep is written to its file and not said to be done") {
  const Sandbox sandbox;
  const FullHome home(sandbox);
  if (!home.full()) return skip("nothing may be mounted here");
  const ToolResult result = compile_norm(sandbox, {"--target", "sm_90a", "-o", sandbox.path("n.cubin")});
  CAPTURE(result.err);
  CHECK(result.status == 3);
  CHECK(contains(result.err, "No space left on device"));
  CHECK(contains(result.out, "n.cubin"));
}
