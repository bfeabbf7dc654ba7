// SPDX-License-Identifier: Apache-2.0
#include "kernel_arguments.hpp"

#include "tool.hpp"

#include <cubinet/base/file_system.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;
using test::contains;

namespace {

Result<ResolvedKernel> resolve(const std::string& name, std::vector<std::string> parameters,
                               std::vector<std::string> targets) {
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  KernelArguments arguments;
  arguments.template_name = name;
  arguments.parameters = std::move(parameters);
  arguments.targets = std::move(targets);
  return resolve_kernel(*posix_file_system(), *catalog, arguments);
}

const std::vector<std::string> kDecode = {"head_dim_qk=128", "head_dim_v=128"};

}  // namespace

TEST_CASE("a complete specification comes of the parameters given and the defaults") {
  const auto kernel =
      resolve("rms_norm", {"hidden_size=4096", "residual_add=true", "dtype=fp16"}, {"sm_90a,sm_80"});
  REQUIRE(kernel);
  CHECK(kernel->targets.size() == 2);
  CHECK(kernel->spec.parameters.at("hidden_size") == ParameterValue(std::int64_t{4096}));
  CHECK(kernel->spec.parameters.at("residual_add") == ParameterValue(true));
  CHECK(kernel->spec.parameters.at("threads_per_row") == ParameterValue(std::int64_t{256}));
}

TEST_CASE("wrong parameters are refused by name") {
  const auto message = [](std::vector<std::string> parameters) {
    const auto kernel = resolve("rms_norm", std::move(parameters), {"sm_90a"});
    REQUIRE_FALSE(kernel);
    CHECK(kernel.error().code == ErrorCode::invalid_argument);
    return kernel.error().to_line();
  };
  CHECK(contains(message({}), "hidden_size"));
  CHECK(contains(message({"hiden_size=64"}), "did you mean hidden_size?"));
  CHECK(contains(message({"zzz=64"}), "its parameters are"));
  CHECK(contains(message({"hidden_size=64", "hidden_size=64"}), "given twice"));
  CHECK(contains(message({"hidden_size"}), "gives no parameter a value"));
  CHECK(contains(message({"=64"}), "gives no parameter a value"));
  for (const char* value : {"", "65", "63", "32776", "64x", " 64", "1e3", "99999999999999999999", "-64"}) {
    CAPTURE(value);
    CHECK(contains(message({std::string("hidden_size=") + value}), "hidden_size"));
  }
  CHECK(contains(message({"hidden_size=64", "dtype=bf17"}), "dtype"));
  CHECK(contains(message({"hidden_size=64", "residual_add=maybe"}), "residual_add"));
}

TEST_CASE("head dims that the kernel does not do are refused, not rounded") {
  for (const char* dim : {"0", "63", "72", "96", "127", "129", "512", "-128"}) {
    const auto kernel =
        resolve("attention_decode", {std::string("head_dim_qk=") + dim, "head_dim_v=128"}, {"sm_90a"});
    REQUIRE_FALSE(kernel);
    CHECK(contains(kernel.error().to_line(), "head_dim_qk"));
    CHECK(contains(kernel.error().to_line(), "64, 128, 256"));
  }
}

TEST_CASE("targets that are unknown or too old for the template are refused") {
  CHECK(contains(resolve("attention_decode", kDecode, {"sm_101a"}).error().message, "sm_110"));
  CHECK(contains(resolve("attention_decode", kDecode, {"sm_90f"}).error().message, "sm_90f"));
  CHECK(contains(resolve("attention_decode", kDecode, {"sm_75"}).error().message, "sm_75"));
}

TEST_CASE("a combination that no device of the target could launch is refused by its shared memory") {
  const std::vector<std::string> large = {"head_dim_qk=256", "head_dim_v=256", "tile_size_kv=64", "stages=2"};
  CHECK(resolve("attention_decode", large, {"sm_90a"}));
  for (const char* target : {"sm_86", "sm_89", "sm_120f"}) {
    const auto kernel = resolve("attention_decode", large, {target});
    REQUIRE_FALSE(kernel);
    CHECK(kernel.error().code == ErrorCode::unsupported);
    CHECK(contains(kernel.error().message, "shared memory"));
    CHECK(contains(kernel.error().message, target));
  }
}

TEST_CASE("a kernel belongs to the source in whose text its name stands, comments aside") {
  std::vector<SourceProgram> programs(3);
  programs[0].text =
      "// axpy is in the next file, and so is scale(\nconst char* text = \"axpy(\"; /* axpy( */ __global__ "
      "void first(int*);\n";
  programs[1].text = "template <class T> __global__ void axpy (T* y) { my_axpy2(y); }\n";
  programs[2].text = "__global__ void scale(int*) { axpy<<<1, 1>>>(0); }\n";
  CHECK(cli::source_of_kernel("axpy<float, 4>", programs) == 1);
  CHECK(cli::source_of_kernel("&my::axpy<float>", programs) == 1);
  CHECK(cli::source_of_kernel("first", programs) == 0);
  CHECK(cli::source_of_kernel("scale", programs) == 2);
  CHECK(cli::source_of_kernel("axpy2", programs) == 0);
  CHECK(cli::source_of_kernel("", programs) == 0);
}

TEST_CASE("every kind of wrong specification ends the tool with 2") {
  using test::run_tool;
  CHECK(run_tool({"key", "rms_norm", "-p", "hidden_size=64", "--target", "sm_101a"}).status == 2);
  CHECK(run_tool({"key", "rms_norm", "-p", "hidden_size=64"}).status == 2);
  CHECK(run_tool({"key", "nothing", "--target", "sm_90a"}).status == 2);
  const auto no_template = run_tool({"key", "16ffab8b02ac174e", "-p", "a=1", "--target", "sm_90a"});
  CHECK(no_template.status == 2);
  CHECK(contains(no_template.err, "named by its key or function, and takes no -p"));
  const auto refused = run_tool({"key", "attention_decode", "-p", "head_dim_qk=256", "-p", "head_dim_v=256",
                                 "--target", "sm_120f", "--json"});
  CHECK(refused.status == 2);
  CHECK(refused.json()["error"]["code"] == "unsupported");
}
