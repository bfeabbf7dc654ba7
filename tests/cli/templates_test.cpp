// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "tool.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace cubinet::test;

namespace {

constexpr const char* kOwnTemplate = R"(/* cubinet-template
{ "name": "own", "interface": 3, "summary": "does nothing", "minimum_target": "sm_80",
  "parameters": [ {"name": "block", "type": "int", "minimum": 32, "maximum": 2048, "multiple_of": 32, "default": 64,
                   "summary": "threads"} ],
  "constraints": [ {"require": "block != 96", "message": "block must not be 96"} ],
  "kernels": [ {"name": "own", "threads": "block", "dynamic_shared_bytes": "0", "parameter_bytes": 0} ] }
*/
extern "C" __global__ void own() {}
)";

}  // namespace

TEST_CASE("templates lists the templates of the library") {
  const ToolResult result = run_tool({"templates", "--json"});
  CHECK(result.status == 0);
  std::vector<std::string> names;
  const auto document = result.json();
  for (const auto& one : document["templates"])
    names.push_back(one["name"]);
  std::vector<std::string> builtin;
  for (const auto& kernel_template : ok(cubinet::TemplateCatalog::builtin()).list())
    builtin.push_back(kernel_template->name());
  CHECK(names == builtin);
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(contains(run_tool({"templates"}).out, "attention_decode"));
}

TEST_CASE("templates shows parameters, allowed values, constraints and kernels of one") {
  const ToolResult result = run_tool({"templates", "rms_norm", "-p", "hidden_size=4096", "--json"});
  CHECK(result.status == 0);
  const auto document = result.json();
  CHECK(document["parameters"].size() >= 3);
  CHECK(document["constraints"].size() >= 1);
  CHECK(document["kernels"][0]["threads"] == 256);
  CHECK(document["specification"]["parameters"]["hidden_size"] == 4096);
  const std::string text = run_tool({"templates", "rms_norm"}).out;
  CHECK(contains(text, "hidden_size"));
  CHECK(contains(text, "a multiple of 8"));
  CHECK(contains(text, "Constraints:"));
  CHECK(contains(text, "give those that are required"));
}

TEST_CASE("templates names the grid and the argument structure of each kernel, and its header") {
  const auto launches = run_tool({"templates", "rms_norm", "--json"}).json()["launches"];
  REQUIRE(launches.size() == 1);
  CHECK(launches[0]["kernel"] == "rms_norm");
  CHECK(launches[0]["grid"] == "ceil(rows / rows_per_block)");
  CHECK(launches[0]["argument"] == "cubinet::kernel_templates::RmsNormParameters");
  CHECK(launches[0]["argument_header"] == "cubinet/kernel_templates/rms_norm_parameters.h");
  const std::string text = run_tool({"templates", "rms_norm"}).out;
  CHECK(contains(text, "ceil(rows / rows_per_block)"));
  CHECK(contains(text, "cubinet/kernel_templates/rms_norm_parameters.h"));
  const Sandbox sandbox;
  sandbox.write("own.cu", kOwnTemplate);
  const auto own = run_tool({"templates", "own", "--json", "--template-file", sandbox.path("own.cu")}).json();
  CHECK(own["launches"][0]["kernel"] == "own");
  CHECK(own["launches"][0]["grid"].is_null());
}

TEST_CASE("a template of the user is listed and shown like the others") {
  const Sandbox sandbox;
  sandbox.write("own.cu", kOwnTemplate);
  const std::vector<std::string> file = {"--template-file", sandbox.path("own.cu")};
  CHECK(contains(run_tool({"templates", file[0], file[1]}).out, "does nothing"));
  const auto document = run_tool({"templates", "own", "--json", file[0], file[1]}).json();
  CHECK(document["interface_version"] == 3);
  CHECK(document["constraints"][0] == "block must not be 96");
  CHECK(document["kernels"][0]["threads"] == 64);
}

TEST_CASE("a template without a summary is shown by its name alone") {
  const Sandbox sandbox;
  std::string text = kOwnTemplate;
  const std::string_view summary = "\"summary\": \"does nothing\", ";
  sandbox.write("own.cu", text.erase(text.find(summary), summary.size()));
  CHECK(run_tool({"templates", "own", "--template-file", sandbox.path("own.cu")}).out.starts_with("own\n"));
}

TEST_CASE("two templates of one name are refused") {
  const Sandbox sandbox;
  sandbox.write("own.cu", kOwnTemplate);
  const std::string file = sandbox.path("own.cu");
  CHECK(run_tool({"templates", "--template-file", file, "--template-file", file}).status == 2);
}

TEST_CASE("an unknown template is wrong input and the known ones are named") {
  const ToolResult result = run_tool({"templates", "rms_nrom", "--json"});
  CHECK(result.status == 2);
  CHECK(result.json()["error"]["code"] == "not_found");
  CHECK(contains(result.json()["error"]["remedy"].get<std::string>(), "rms_norm"));
}

TEST_CASE("parameters without a template, and wrong ones, are refused") {
  CHECK(run_tool({"templates", "-p", "hidden_size=64"}).status == 2);
  CHECK(run_tool({"templates", "rms_norm", "-p", "hidden_size=65"}).status == 2);
}

TEST_CASE("the example matrix has the kernel that combines the splits of its decode kernels") {
  const auto file = std::filesystem::path(CUBINET_REFERENCE).parent_path() / "../examples/matrix.json";
  const auto kernels = nlohmann::json::parse(std::ifstream(file))["kernels"];
  const auto of = [&](const char* name) {
    std::vector<nlohmann::json> found;
    for (const auto& kernel : kernels)
      if (kernel["template"] == name) found.push_back(kernel);
    return found;
  };
  REQUIRE(of("attention_decode").size() == 2);
  REQUIRE(of("attention_combine").size() == 1);
  const auto combine = of("attention_combine").front();
  CHECK(combine["parameters"]["tile_size_q"] == nlohmann::json{16});  // the default of decode
  for (const auto& decode : of("attention_decode")) {
    CHECK(decode["parameters"]["head_dim_v"] == combine["parameters"]["head_dim_v"]);
    for (const auto& target : decode["targets"])
      CHECK(std::count(combine["targets"].begin(), combine["targets"].end(), target) == 1);
  }
}
