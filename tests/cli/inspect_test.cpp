// SPDX-License-Identifier: Apache-2.0
#include "home_fixture.hpp"
#include "support/compiler_search.hpp"
#include "support/skip.hpp"
#include "tool.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <regex>
#include <sstream>

using namespace cubinet;
using namespace cubinet::test;

namespace {

// The kernels differ in all properties that are printed.
constexpr const char* kTemplate = R"(/* cubinet-template
{ "name": "bounded", "interface": 1, "summary": "resources of every kind", "minimum_target": "sm_80",
  "parameters": [], "constraints": [],
  "kernels": [ {"name": "bounded", "threads": "256", "dynamic_shared_bytes": "4096", "parameter_bytes": 0},
               {"name": "stacked", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 0},
               {"name": "plain", "threads": "32", "dynamic_shared_bytes": "0", "parameter_bytes": 0} ] }
*/
#include <cubinet/parameters.cuh>
extern "C" __global__ void __launch_bounds__(256) bounded(int a, double b, char c, float* p) {
  __shared__ float sums[100];
  extern __shared__ float dynamic[];
  sums[threadIdx.x % 100] = p[a];
  __syncthreads();
  p[threadIdx.x] = sums[(threadIdx.x * 7) % 100] + dynamic[c] + static_cast<float>(b);
}
extern "C" __global__ void stacked(float* p, int n) {
  float values[64];
  for (int i = 0; i < n; ++i) values[i & 63] = p[i];
  for (int i = 0; i < n; ++i) p[i] = values[(i * 7) & 63];
}
extern "C" __global__ void plain() {}
)";

nlohmann::json compiled(const Sandbox& sandbox, const std::string& target,
                        std::vector<std::string> more = {}) {
  sandbox.write("bounded.cu", kTemplate);
  std::vector<std::string> line = {
      "compile", "bounded", "--template-file", sandbox.path("bounded.cu"), "--json", "--target", target};
  line.insert(line.end(), more.begin(), more.end());
  const ToolResult result = sandbox.run(line);
  CAPTURE(result.out);
  REQUIRE(result.status == 0);
  return result.json()["results"][0];
}

nlohmann::json inspected(const Sandbox& sandbox, const std::string& subject) {
  const ToolResult result = sandbox.run({"inspect", subject, "--json"});
  CAPTURE(result.out);
  REQUIRE(result.status == 0);
  return result.json()["results"][0];
}

nlohmann::json kernel_of(const nlohmann::json& document, const std::string& name) {
  for (const auto& kernel : document["kernels"]) {
    if (kernel["name"] == name) return kernel;
  }
  FAIL("no kernel ", name);
  return {};
}

std::string find_cuobjdump() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(cuda_root()) + "/bin:" + (path == nullptr ? "" : path));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code unknown;
    if (std::filesystem::exists(folder + "/cuobjdump", unknown)) return folder + "/cuobjdump";
  }
  return {};
}

}  // namespace

TEST_CASE("a cubin tells the resources, arguments and bounds of its kernels, and its notes") {
  const Sandbox sandbox;
  const std::string file = sandbox.path("bounded.cubin");
  const auto result = compiled(sandbox, "sm_90a", {"-o", file, "--record"});
  const auto document = inspected(sandbox, file);
  CHECK(document["file"] == file);
  CHECK(document["kind"] == "cubin");
  CHECK(document["target"] == "sm_90a");
  CHECK(document["sha256"] == result["sha256"]);
  CHECK(document["bytes"] == sandbox.read("bounded.cubin").size());
  CHECK(document["template"] == "bounded");  // from the record
  const auto bounded = kernel_of(document, "bounded");
  CHECK(bounded["registers"] > 0);
  CHECK(bounded["stack_bytes"] == 0);
  CHECK(bounded["static_shared_bytes"] >= 400);
  CHECK(bounded["dynamic_shared_bytes"] == 4096);
  CHECK(bounded["max_threads"] == nlohmann::json::array({256, 1, 1}));
  CHECK(bounded["argument_bytes"] == 32);
  CHECK(
      bounded["arguments"] ==
      nlohmann::json::parse(
          R"([{"offset":0,"bytes":4},{"offset":8,"bytes":8},{"offset":16,"bytes":1},{"offset":24,"bytes":8}])"));
  CHECK(kernel_of(document, "stacked")["stack_bytes"] == 256);
  CHECK(kernel_of(document, "plain")["argument_bytes"] == 0);
  CHECK(document["compatibility"][0] == nlohmann::json::parse(R"({"tag":9,"length":1,"value":"01"})"));
  CHECK(contains(document["notes"].dump(), "-arch sm_90a"));
  const std::string text = sandbox.run({"inspect", file}).out;
  CHECK(contains(text, "256 bytes of stack"));
  CHECK(contains(text, "at most 256x1x1 threads"));
  CHECK(contains(text, "tag 9, length 1, value 01"));
}

TEST_CASE("the figures are those of cuobjdump") {
  const std::string cuobjdump = find_cuobjdump();
  if (cuobjdump.empty()) return skip("there is no cuobjdump");
  const Sandbox sandbox;
  for (const char* target : {"sm_80", "sm_90a", "sm_100f"}) {
    CAPTURE(target);
    const std::string file = sandbox.path(std::string(target) + ".cubin");
    compiled(sandbox, target, {"-o", file});
    ToolSetting setting;
    setting.executable = cuobjdump;
    const ToolResult usage = run_tool({"--dump-resource-usage", file}, setting);
    REQUIRE(usage.status == 0);
    static const std::regex kUsage("Function (\\w+):\\s+REG:(\\d+) STACK:(\\d+) SHARED:(\\d+)");
    const auto document = inspected(sandbox, file);
    std::size_t count = 0;
    for (std::sregex_iterator found(usage.out.begin(), usage.out.end(), kUsage), end; found != end; ++found) {
      const auto kernel = kernel_of(document, (*found)[1]);
      CHECK(kernel["registers"] == std::stoi((*found)[2]));
      CHECK(kernel["stack_bytes"] == std::stoi((*found)[3]));
      CHECK(kernel["static_shared_bytes"] == std::stoi((*found)[4]));
      ++count;
    }
    CHECK(count == 3);
  }
}

TEST_CASE("PTX tells arguments and bounds, whether or not a NUL ends the file") {
  const Sandbox sandbox;
  const std::string file = sandbox.path("bounded.ptx");
  compiled(sandbox, "sm_90a", {"--emit", "ptx", "-o", file});
  for (int i = 0; i < 2; ++i) {
    const auto document = inspected(sandbox, file);
    CHECK(document["kind"] == "ptx");
    CHECK(document["target"] == "compute_90a");
    const auto bounded = kernel_of(document, "bounded");
    CHECK(bounded["registers"].is_null());
    CHECK(bounded["argument_bytes"] == 32);
    CHECK(bounded["max_threads"] == nlohmann::json::array({256, 1, 1}));
    std::string text = sandbox.read("bounded.ptx");
    REQUIRE(text.back() == '\0');
    text.pop_back();
    sandbox.write("other.ptx", text);
  }
  CHECK(inspected(sandbox, sandbox.path("other.ptx"))["kernels"].size() == 3);
}

TEST_CASE("a kernel of the home or a bundle is inspected by key or name") {
  const Sandbox sandbox;
  const std::string key = compiled(sandbox, "sm_90a")["key"];
  CHECK(inspected(sandbox, key)["file"] == sandbox.home().string());
  const auto document = inspected(sandbox, "bounded");
  CHECK(document["key"] == key);
  CHECK(kernel_of(document, "bounded")["dynamic_shared_bytes"] == 4096);
  REQUIRE(sandbox.run({"bundle", "create", "-o", sandbox.path("b.bundle")}).status == 0);
  const auto bundled = run_tool(
      {"inspect", key, "--home", sandbox.path("none"), "--bundle", sandbox.path("b.bundle"), "--json"});
  CHECK(bundled.status == 0);
  CHECK(bundled.json()["results"][0]["file"] == sandbox.path("b.bundle"));
  CHECK(sandbox.run({"inspect", "0123456789abcdef"}).status == 1);
}

TEST_CASE("what is damaged or another kind of file is named") {
  const Sandbox sandbox;
  const std::string file = sandbox.path("bounded.cubin");
  compiled(sandbox, "sm_90a", {"-o", file});
  const std::string whole = sandbox.read("bounded.cubin");
  const auto refusal = [&](const std::string& content, int status) {
    sandbox.write("x", content);
    const ToolResult result = sandbox.run({"inspect", sandbox.path("x"), "--json"});
    CHECK(result.status == status);
    return result.json()["error"]["message"].get<std::string>();
  };
  CHECK(contains(refusal(whole.substr(0, whole.size() / 2), 1), "is outside the file"));
  CHECK(contains(refusal(std::string("\x50\xed\x55\xba", 4) + whole, 3), "fatbinary"));
  CHECK(contains(refusal("\x7f"
                         "ELF",
                         1),
                 "header"));
  CHECK(contains(refusal(".version 9.0\n.target sm_90\n.entry k(.param .u64", 1), "arguments"));
  CHECK(sandbox.run({"inspect", sandbox.path("nothing")}).status == 2);
  const ToolResult program = sandbox.run({"inspect", "/proc/self/exe", "--json"});
  CHECK(program.status == 2);
  CHECK(contains(program.json()["error"]["message"].get<std::string>(), "object of the host"));
  sandbox.write("bounded.cubin.record", "x");
  CHECK(sandbox.run({"inspect", file}).status == 1);
}
