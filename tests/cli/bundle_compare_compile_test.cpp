// SPDX-License-Identifier: Apache-2.0
// bundle diff --code of what NVRTC compiles.
#include "tool.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace cubinet::test;

namespace {

constexpr const char* kGather = R"(/* cubinet-template
{ "name": "gather", "interface": 1, "summary": "for a test", "minimum_target": "sm_80", "parameters": [],
  "constraints": [],
  "kernels": [ {"name": "gather", "threads": "128", "dynamic_shared_bytes": "0", "parameter_bytes": 24} ] }
*/
namespace first {
constexpr int kStep = 3;
}
__device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
struct Arguments { int* out; const float* in; int count; };
extern "C" __global__ void gather(const Arguments arguments) {
  __shared__ float staged[128];
  staged[threadIdx.x] = arguments.in[threadIdx.x];
  __syncthreads();
  for (int i = 0; i < arguments.count; ++i)
    arguments.out[i * first::kStep] = static_cast<int>(staged[i & 127]) READ;
}
)";

std::string with_text(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A bundle of the template's kernel on four targets.
std::string gather_bundle(const Sandbox& sandbox, const std::string& name, const std::string& text) {
  sandbox.write(name + ".cu", text);
  const std::string home = sandbox.path("home_" + name);
  const std::string bundle = sandbox.path(name + ".bundle");
  const ToolResult compiled = run_tool({"compile", "gather", "--template-file", sandbox.path(name + ".cu"),
                                        "--target", "sm_80,sm_90a,sm_100f,sm_120f", "--home", home});
  REQUIRE_MESSAGE(compiled.status == 0, compiled.err);
  REQUIRE(run_tool({"bundle", "create", "-o", bundle, "--home", home}).status == 0);
  return bundle;
}

}  // namespace

TEST_CASE("names and unused constants leave the code the same, and each change of what runs is named") {
  const Sandbox sandbox;
  const std::string unread = with_text(kGather, "READ", "");
  const std::string read = with_text(kGather, "READ", "+ table[i & 7]");
  const std::string base = gather_bundle(sandbox, "base", unread);
  const auto compare = [&](const std::string& before, const std::string& name, const std::string& text) {
    return run_tool({"bundle", "diff", "--code", before, gather_bundle(sandbox, name, text), "--json"});
  };

  const std::string renamed = with_text(
      with_text(unread, "namespace first {", "namespace second {\nconstexpr double kMore[3] = {7, 8, 9};"),
      "first::kStep", "second::kStep");
  const ToolResult same = compare(base, "renamed", renamed);
  CHECK(same.status == 0);
  CHECK(same.json()["same"].size() == 4);
  CHECK(same.json()["equal"] == true);

  // An unused table is part of the module and of no code.
  const std::string other_table = with_text(unread, "{1, 2,", "{9, 2,");
  CHECK(compare(base, "other_table", other_table).status == 0);

  const auto parts = [&](const std::string& before, const std::string& name, const std::string& text) {
    const ToolResult result = compare(before, name, text);
    CHECK(result.status == 1);
    const auto changed = result.json()["changed"];
    REQUIRE(changed.size() == 4);
    std::vector<std::string> all;
    for (const auto& difference : changed[0]["differences"]) {
      for (const auto& part : difference["parts"])
        all.push_back(part);
    }
    return all;
  };
  const std::string reading = gather_bundle(sandbox, "reading", read);
  CHECK(parts(reading, "reading_other", with_text(read, "{1, 2,", "{9, 2,")) ==
        std::vector<std::string>{"data"});
  CHECK(parts(base, "step", with_text(unread, "kStep = 3", "kStep = 5")) == std::vector<std::string>{"code"});
  CHECK(
      parts(base, "bounds", with_text(unread, "__global__ void", "__global__ void __launch_bounds__(256)")) ==
      std::vector<std::string>{"attributes"});
  CHECK(parts(base, "threads", with_text(unread, R"("threads": "128")", R"("threads": "64")")) ==
        std::vector<std::string>{"launch"});
}
