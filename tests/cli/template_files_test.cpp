// SPDX-License-Identifier: Apache-2.0
#include "tool.hpp"

#include <cubinet/session/template_files.hpp>

#include <doctest/doctest.h>

#include <filesystem>

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

namespace {

constexpr const char* kForeign = "extern \"C\" __global__ void blur(float* x) { x[0] = TAPS; }\n";
constexpr const char* kBeside = R"({
  "name": "blur", "interface": 1,
  "parameters": [{"name": "taps", "type": "int", "macro": "TAPS", "default": 3}],
  "kernels": [{"name": "blur", "threads": 32}]
})";
constexpr const char* kInHead = R"(/* cubinet-template {"name": "own", "interface": 1,
  "kernels": [{"name": "own", "threads": 32}]} */
)";

std::size_t found_in(const std::string& name) {
  const auto found = find_templates(*posix_file_system(), name);
  REQUIRE_MESSAGE(found.has_value(), found.error().message);
  return found->size();
}

}  // namespace

TEST_CASE("a file that stays as it is is declared by the one beside it, by either name") {
  const Sandbox sandbox;
  sandbox.write("blur.cu", kForeign);
  CHECK(run_tool({"templates", "--template-file", sandbox.path("blur.cu")}).status == 2);
  sandbox.write("blur.cubinet.json", kBeside);
  for (const char* name : {"blur.cu", "blur.cubinet.json"}) {
    const ToolResult shown = run_tool({"templates", "blur", "--json", "--template-file", sandbox.path(name)});
    REQUIRE_MESSAGE(shown.status == 0, shown.err);
    CHECK(shown.json()["parameters"][0]["macro"] == "TAPS");
  }
}

TEST_CASE("two declarations are an error, and one beside nothing") {
  const Sandbox sandbox;
  sandbox.write("own.cu", kInHead);
  sandbox.write("own.cubinet.json", kBeside);
  const ToolResult both = run_tool({"templates", "--template-file", sandbox.path("own.cu")});
  CHECK(both.status == 2);
  CHECK(contains(both.err, "begins with a declaration too"));
  sandbox.write("none.cubinet.json", kBeside);
  CHECK(run_tool({"templates", "--template-file", sandbox.path("none.cubinet.json")}).status == 2);
}

TEST_CASE("an error of the file beside names it and its line") {
  const Sandbox sandbox;
  sandbox.write("blur.cu", kForeign);
  sandbox.write("blur.cubinet.json", "{\"name\": \"blur\",\n\"interface\": 1,\n\"parameter\": []}");
  const ToolResult result = run_tool({"templates", "--template-file", sandbox.path("blur.cu")});
  CHECK(result.status == 2);
  CHECK_MESSAGE(contains(result.err, "blur.cubinet.json:1: "), result.err);  // it declares no kernel
  sandbox.write("blur.cubinet.json",
                "{\"name\": \"blur\",\n\"interface\": 1,\n\"parameter\": [],\n\"kernels\": "
                "[{\"name\": \"k\", \"threads\": 1}]}");
  const ToolResult misspelt = run_tool({"templates", "--template-file", sandbox.path("blur.cu")});
  CHECK_MESSAGE(contains(misspelt.err, "blur.cubinet.json:3: "), misspelt.err);
}

TEST_CASE("the templates of a folder are those of its sources that are declared") {
  const Sandbox sandbox;
  std::filesystem::create_directory(sandbox.path("folder"));
  sandbox.write("folder/blur.cu", kForeign);
  CHECK(run_tool({"templates", "--template-file", sandbox.path("folder")}).status == 2);
  sandbox.write("folder/blur.cubinet.json", kBeside);
  sandbox.write("folder/own.cu", kInHead);
  sandbox.write("folder/other.cu", kForeign);
  sandbox.write("folder/own.cuh", kInHead);
  CHECK(found_in(sandbox.path("folder")) == 2);
  const ToolResult listed = run_tool({"templates", "--template-file", sandbox.path("folder")});
  CHECK(contains(listed.out, "blur"));
  CHECK(contains(listed.out, "own"));
}

TEST_CASE("no file of a template is written over") {
  const Sandbox sandbox;
  sandbox.write("blur.cu", kForeign);
  sandbox.write("blur.cubinet.json", kBeside);
  for (const char* name : {"blur.cu", "blur.cubinet.json"}) {
    const ToolResult result = sandbox.run({"compile", "blur", "--template-file", sandbox.path("blur.cu"),
                                           "--target", "sm_90a", "-o", sandbox.path(name)});
    CHECK(result.status == 2);
  }
  CHECK(sandbox.read("blur.cubinet.json") == kBeside);
}
