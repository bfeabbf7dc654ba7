// SPDX-License-Identifier: Apache-2.0
#include "support/compiler_search.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace cubinet::test;

namespace {

const std::vector<std::string> kNormArguments = {"rms_norm", "-p", "hidden_size=64"};

std::vector<std::string> line(std::string verb, const std::vector<std::string>& rest) {
  std::vector<std::string> arguments = {std::move(verb)};
  arguments.insert(arguments.end(), kNormArguments.begin(), kNormArguments.end());
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return arguments;
}

}  // namespace

TEST_CASE("explain says what would be compiled, then which build is used, and changes nothing") {
  const Sandbox sandbox;
  const auto before = sandbox.run(line("explain", {"--device", "9.0", "--json"}));
  REQUIRE(before.status == 0);
  CHECK(before.json()["chosen"].is_null());
  CHECK(before.json()["would_compile"] == "sm_90a");
  const std::string fix = before.json()["fix"];
  CHECK(contains(fix, "cubinet compile rms_norm"));
  CHECK(contains(fix, "--target sm_90a"));

  REQUIRE(sandbox.run(line("compile", {"--target", "sm_90,sm_90a,sm_100f"})).status == 0);
  const auto after = sandbox.run(line("explain", {"--device", "sm_90", "--json"}));
  REQUIRE(after.status == 0);
  CHECK(after.json()["chosen"]["target"] == "sm_90a");
  CHECK(after.json()["targets"][0]["candidates"][0]["usable"] == true);
  const auto forbidden = sandbox.run(line("explain", {"--device", "9.0", "--forbid", "sm_90a", "--json"}));
  CHECK(forbidden.json()["chosen"]["target"] == "sm_90");
  CHECK(forbidden.json()["policy"]["forbidden"][0] == "sm_90a");
  const auto text = sandbox.run(line("explain", {"--device", "9.0"}));
  CHECK(contains(text.out, "* sm_90a"));
}

TEST_CASE("a key is explained for any device, and the nearest builds say what differs") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(line("compile", {"--target", "sm_90"})).status == 0);
  const auto listed = sandbox.run({"registry", "list", "--json"});
  const std::string key = listed.json()["entries"][0]["key"];
  CHECK(sandbox.run({"explain", key, "--device", "9.0", "--json"}).json()["chosen"]["key"] == key);
  const auto elsewhere = sandbox.run({"explain", key, "--device", "12.0", "--json"});
  REQUIRE(elsewhere.status == 0);
  CHECK(elsewhere.json()["chosen"].is_null());
  CHECK(contains(elsewhere.json()["nearest"][0]["target_verdict"], "sm_90 code runs on"));
  const auto other =
      sandbox.run({"explain", "rms_norm", "-p", "hidden_size=128", "--device", "9.0", "--json"});
  CHECK(other.json()["nearest"][0]["differences"][0] == "hidden_size 64 instead of 128");
}

TEST_CASE("where nothing can be had explain ends with status 1 and the remedy") {
  const Sandbox sandbox;
  const auto pinned = sandbox.run(line("explain", {"--device", "9.0", "--pin", "sm_100a", "--json"}));
  CHECK(pinned.status == 1);
  CHECK_FALSE(pinned.json()["error"]["message"].get<std::string>().empty());
  CHECK(sandbox.run(line("explain", {"--device", "sm_999", "--json"})).json().contains("error"));
  CHECK(contains(pinned.json()["reason"], "pins sm_100a"));
  CHECK_FALSE(pinned.json()["fix"].get<std::string>().empty());
  const auto unknown = sandbox.run({"explain", "0123456789abcdef", "--device", "9.0", "--json"});
  CHECK(unknown.status == 1);
  CHECK(unknown.json()["error"]["code"] == "not_found");
}

TEST_CASE("explain refuses wrong parameters, devices and policies as usage") {
  const Sandbox sandbox;
  CHECK(sandbox.run({"explain", "rms_norm", "-p", "hidden=64", "--device", "9.0"}).status == 2);
  CHECK(sandbox.run({"explain", "rms_norm", "--device", "9.0"}).status == 2);
  CHECK(sandbox.run(line("explain", {"--device", "hopper"})).status == 2);
  CHECK(sandbox.run(line("explain", {})).status == 2);
  CHECK(sandbox.run(line("explain", {"--device", "9.0", "--pin", "sm_90", "--forbid", "sm_90"})).status == 2);
  CHECK(sandbox.run({"explain", "nonsense", "-p", "a=1", "--device", "9.0"}).status == 2);
}

TEST_CASE("a template with headers of its own is the same kernel to every verb") {
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox / "my headers");
  sandbox.write("my headers/factor.h", "#define FACTOR 2.0f\n");
  sandbox.write("it's.cu", R"(/* cubinet-template
{ "name": "scaled", "interface": 1, "summary": "with a header", "minimum_target": "sm_80",
  "parameters": [], "constraints": [],
  "kernels": [ {"name": "scaled", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 8} ] }
*/
#include "factor.h"
extern "C" __global__ void scaled(float* p) { p[threadIdx.x] *= FACTOR; }
)");
  const std::vector<std::string> sources = {"--template-file", sandbox.path("it's.cu"), "-I",
                                            sandbox.path("my headers")};
  const auto with_sources = [&](std::vector<std::string> words) {
    words.insert(words.end(), sources.begin(), sources.end());
    words.emplace_back("--json");
    return sandbox.run(words);
  };
  const auto before = with_sources({"explain", "scaled", "--device", "9.0"});
  CAPTURE(before.err);
  REQUIRE(before.status == 0);
  const std::string fix = before.json()["fix"];
  CAPTURE(fix);
  REQUIRE(fix.substr(0, 8) == "cubinet ");
  // As a shell reads it.
  const std::string command = std::string("CUDA_HOME='") + cuda_root() + "' '" + tool_path() + "' " +
                              fix.substr(8) + " >/dev/null 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  const auto after = with_sources({"explain", "scaled", "--device", "9.0"}).json();
  REQUIRE(after["chosen"].is_object());
  CHECK(after["chosen"]["usable"] == true);
  const std::string fingerprint = after["chosen"]["fingerprint"];
  CHECK(with_sources({"key", "scaled", "--target", "sm_90a"}).json()["keys"][0]["fingerprint"] ==
        fingerprint);
  CHECK(with_sources({"compile", "scaled", "--target", "sm_90a"}).json()["results"][0]["source"] ==
        "registry");
  sandbox.write("m.json", R"({"kernels": [{"template": "scaled", "targets": ["sm_90a", "sm_80"]}]})");
  const auto built = with_sources({"prebuild", sandbox.path("m.json"), "-o", sandbox.path("b.bundle")});
  CAPTURE(built.err);
  REQUIRE(built.status == 0);
  CHECK(built.json()["reused"] == 1);
  CHECK(built.json()["compiled"] == 1);
}
