// SPDX-License-Identifier: Apache-2.0
// What was compiled is a row of the home's table. Needs NVRTC.
#include "select_line.hpp"
#include "support/compiler_search.hpp"
#include "support/ok.hpp"

#include <cubinet/cubin_registry/home.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

using namespace cubinet;
using namespace cubinet::test;

namespace {

ToolResult select_decode(const Sandbox& sandbox, const std::string& more = {}) {
  return select_in(sandbox, "--batch 4 --kv-len 8192 --heads-q 32 --heads-kv 8 --device 9.0 " + more);
}

ToolResult compile(const Sandbox& sandbox, const nlohmann::json& specification, const std::string& target) {
  std::vector<std::string> line = {"compile", "attention_decode", "--target", target};
  for (const auto& [name, value] : specification["parameters"].items())
    line.insert(line.end(),
                {"-p", name + "=" + (value.is_string() ? value.get<std::string>() : value.dump())});
  return sandbox.run(line);
}

// As if another compiler had made the home's one build.
void make_stale(const Sandbox& sandbox) {
  HomeOptions options;
  options.path = sandbox.home();
  const auto home = ok(Home::open(options));
  const auto records = ok(home->list());
  REQUIRE(records.size() == 1);
  const auto image = ok(home->load(records.front()))->image;
  ok(home->remove(records));
  auto other = *records.front();
  other.fingerprint.digest = sha256(as_bytes("another compiler"));
  ok(home->publish({std::make_shared<const CubinRecord>(std::move(other)), image}));
}

}  // namespace

TEST_CASE("a kernel that was compiled as select asked for it is named with its digest and its target") {
  const Sandbox sandbox;
  const auto wanted = select_decode(sandbox).json();
  CHECK(wanted["exists"] == false);
  CHECK(wanted["digest"].is_null());
  REQUIRE(compile(sandbox, wanted["specification"], "sm_90").status == 0);
  const auto found = select_decode(sandbox).json();
  CHECK(found["exists"] == true);
  CHECK(found["digest"].get<std::string>().size() == 64);
  CHECK(found["target"] == "sm_90");
  CHECK(found["key"] != wanted["key"]);  // the target is part of it
  CHECK(found["grid"] == wanted["grid"]);
  CHECK(select_decode(sandbox, "--forbid sm_90").json()["exists"] == false);
}

TEST_CASE("a stale build is not said to exist, whatever else the kernel has") {
  const Sandbox sandbox;
  const auto wanted = select_decode(sandbox).json()["specification"];
  REQUIRE(compile(sandbox, wanted, "sm_90a").status == 0);
  make_stale(sandbox);
  CHECK(select_decode(sandbox).json()["exists"] == false);
  const nlohmann::json matrix = {{"kernels",
                                  {{{"template", wanted["template"]},
                                    {"parameters", wanted["parameters"]},
                                    {"targets", {"compute_90"}}}}}};
  sandbox.write("m.json", matrix.dump());
  const std::string bundle = sandbox.path("ptx.bundle");
  REQUIRE(
      run_tool({"prebuild", sandbox.path("m.json"), "-o", bundle, "--home", sandbox.path("other")}).status ==
      0);
  CHECK(select_decode(sandbox, "--bundle " + bundle).json()["exists"] == false);
}

TEST_CASE("a command that select prints can be typed as it stands") {
  const Sandbox sandbox;
  const ToolResult declined = select_decode(sandbox, "--backend published");
  REQUIRE(declined.status == 1);
  const auto fixes = declined.json()["fixes"];
  REQUIRE(fixes.size() == 2);
  CHECK(fixes[0] == "cubinet import-artifacts FOLDER --home " + sandbox.home().string());
  const std::string compile = fixes[1];
  CAPTURE(compile);
  REQUIRE(compile.starts_with("cubinet "));
  const std::string command = std::string("HOME=/nonexistent CUDA_HOME='") + cuda_root() + "' '" +
                              tool_path() + "' " + compile.substr(8) + " >/dev/null 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(select_decode(sandbox).json()["exists"] == true);
}
