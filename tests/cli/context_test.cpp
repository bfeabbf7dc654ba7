// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include "support/skip.hpp"
#include "tool.hpp"

#include <cubinet/jit/compiler.hpp>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace cubinet::test;

namespace {

std::string home_with(std::vector<std::pair<std::string, std::string>> environment,
                      std::vector<std::string> arguments = {}) {
  ToolSetting setting;
  setting.environment = std::move(environment);
  arguments.insert(arguments.begin(), {"doctor", "--json"});
  const auto document = run_tool(arguments, setting).json();
  return document["home"].contains("path") ? document["home"]["path"].get<std::string>() : "";
}

}  // namespace

TEST_CASE("the home is named by the option, then the environment, then the cache folder") {
  const TempDir folder;
  const std::string base = folder.path().string();
  CHECK(home_with({{"CUBINET_HOME", base + "/b"}}, {"--home", base + "/a"}) == base + "/a");
  CHECK(home_with({{"CUBINET_HOME", base + "/b"}, {"HOME", base}}) == base + "/b");
  CHECK(home_with({{"XDG_CACHE_HOME", base + "/x"}, {"HOME", base}}) == base + "/x/cubinet");
  CHECK(home_with({{"XDG_CACHE_HOME", "relative"}, {"HOME", base}}) == base + "/.cache/cubinet");
  CHECK(home_with({{"CUBINET_HOME", ""}, {"HOME", base}}) == base + "/.cache/cubinet");
}

TEST_CASE("NVRTC is looked for in the toolkit, then in the wheels that are named, then in the usual place") {
  const cubinet::EnvironmentVariables variables(
      std::vector<std::string>{"CUDA_HOME=/a", "CUDA_PATH=/b", "CUBINET_CUDA_WHEELS=/w:/x"});
  cubinet::cli::Console console(cubinet::cli::Color::never);
  const cubinet::cli::GlobalOptions options;
  const auto places =
      cubinet::places_searched(cubinet::cli::Context(variables, options, console).session_options().compiler);
  const std::vector<std::string> expected = {"/a/lib64",
                                             "/a/lib",
                                             "/b/lib64",
                                             "/b/lib",
                                             "/w/nvidia/cu13/lib",
                                             "/w/nvidia/cuda_nvrtc/lib",
                                             "/x/nvidia/cu13/lib",
                                             "/x/nvidia/cuda_nvrtc/lib",
                                             "/usr/local/cuda/lib64"};
  REQUIRE(places.size() >= expected.size());
  CHECK(std::vector<std::string>(places.begin(), places.begin() + 9) == expected);
}

TEST_CASE("a variable forbids compiling, and a value that it does not take is wrong usage") {
  const TempDir folder;
  ToolSetting setting;
  setting.environment = {{"CUBINET_HOME", (folder / "home").string()}, {"CUBINET_COMPILE", "never"}};
  const std::vector<std::string> through_home = {"compile",          "rms_norm", "-p",
                                                 "hidden_size=4096", "--target", "sm_80"};
  const ToolResult missed = run_tool(through_home, setting);
  CHECK(missed.status == 3);
  CHECK(missed.err.find("CUBINET_COMPILE forbids compiling") != std::string::npos);
  std::vector<std::string> directly = through_home;
  directly.insert(directly.end(), {"--emit", "ptx", "-o", (folder / "k.ptx").string()});
  const ToolResult refused = run_tool(directly, setting);
  CHECK(refused.status == 3);
  CHECK(refused.err.find("CUBINET_COMPILE forbids compiling") != std::string::npos);
  setting.environment.back().second = "perhaps";
  const ToolResult wrong = run_tool(through_home, setting);
  CHECK(wrong.status == 2);
  CHECK(wrong.err.find("`CUBINET_COMPILE` has the value 'perhaps'") != std::string::npos);
}

TEST_CASE("without any name for a home the registry verbs say so and end with 3") {
  const ToolResult result = run_tool({"registry", "stats", "--json"});
  CHECK(result.status == 3);
  CHECK(result.json()["error"]["code"] == "unavailable");
  CHECK(contains(result.json()["error"]["remedy"].get<std::string>(), "--home"));
}

TEST_CASE("a relative home is taken from the working directory") {
  const TempDir folder;
  ToolSetting setting;
  setting.folder = folder.path();
  CHECK(run_tool({"registry", "repair", "--home", "kernels"}, setting).status == 0);
  CHECK(std::filesystem::exists(folder / "kernels"));
}

TEST_CASE("a home that others may write is not used by the registry verbs") {
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox.home());
  std::filesystem::permissions(sandbox.home(), std::filesystem::perms::all);
  for (const char* verb : {"list", "stats", "verify", "repair", "gc"}) {
    const ToolResult result = sandbox.run({"registry", verb, "--json"});
    CAPTURE(result.out);
    CHECK(result.status == 3);
    CHECK(result.json()["error"]["code"] == "untrusted");
  }
}

TEST_CASE("a home of another user is not used by the registry verbs, and one of root is read") {
  if (::geteuid() != 0) return skip("needs root to become somebody else");
  const Sandbox sandbox;
  REQUIRE(sandbox.run({"registry", "repair"}).status == 0);
  std::filesystem::permissions(sandbox / "", std::filesystem::perms(0755));
  std::filesystem::permissions(sandbox.home(), std::filesystem::perms(0755));
  // The build folder may be closed to others: the tool is run from a copy.
  std::filesystem::copy_file(tool_path(), sandbox / "cubinet");
  ToolSetting nobody;
  nobody.user = 65534;
  nobody.executable = sandbox / "cubinet";
  // Root's, which nobody else can write, serves; a stranger's does not.
  CHECK(sandbox.run({"registry", "stats", "--json"}, nobody).status == 0);
  CHECK(sandbox.run({"registry", "repair"}, nobody).status == 3);
  REQUIRE(::chown(sandbox.home().c_str(), 65533, 65533) == 0);
  const ToolResult result = sandbox.run({"registry", "stats", "--json"}, nobody);
  CAPTURE(result.err);
  CHECK(result.status == 3);
  CHECK(result.json()["error"]["code"] == "untrusted");
}

TEST_CASE("a home that cannot be made ends with 3") {
  const Sandbox sandbox;
  sandbox.write("home", "a file");
  for (const char* verb : {"list", "repair"}) {
    const ToolResult result = sandbox.run({"registry", verb});
    CHECK(result.status == 3);
    CHECK(contains(result.err, "home"));
  }
}

TEST_CASE("a template file that is missing, or that is none, is wrong input") {
  const Sandbox sandbox;
  CHECK(sandbox.run({"templates", "--template-file", sandbox.path("missing.cu")}).status == 2);
  sandbox.write("empty.cu", "");
  const ToolResult empty = sandbox.run({"templates", "--template-file", sandbox.path("empty.cu"), "--json"});
  CHECK(empty.status == 2);
  CHECK(empty.json()["error"]["code"] == "invalid_argument");
  sandbox.write("noise.cu", std::string("/* cubinet-template {\0\xff", 23));
  CHECK(sandbox.run({"templates", "--template-file", sandbox.path("noise.cu")}).status == 2);
}
