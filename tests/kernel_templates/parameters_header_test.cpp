// SPDX-License-Identifier: Apache-2.0
#include "parameters_header.hpp"

#include "kernel_templates/sample_template.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

std::string header_of(const std::string& source, const KernelSpec& spec) {
  const auto kernel_template = KernelTemplate::parse(source, "test");
  REQUIRE(kernel_template);
  const auto resolved = (*kernel_template)->resolve(spec);
  REQUIRE(resolved);
  const auto header = (*kernel_template)->parameters_header(*resolved);
  REQUIRE(header);
  return *header;
}

}  // namespace

TEST_CASE("every parameter and every kernel becomes a constant") {
  KernelSpec spec{"sample", {}};
  spec.set("head_dim", 128).set("window", true);
  CHECK(header_of(test::kSampleSource, spec) ==
        "#pragma once\n"
        "#include <cubinet/types.cuh>\n"
        "namespace cubinet::parameters {\n"
        "using dtype_q = cubinet::bf16;\n"
        "using dtype_kv = cubinet::bf16;\n"
        "constexpr int head_dim = 128;\n"
        "constexpr int rows = 64;\n"
        "enum class mask_values { causal, dense };\n"
        "constexpr mask_values mask = mask_values::causal;\n"
        "constexpr bool window = true;\n"
        "constexpr unsigned sample_threads = 128;\n"
        "constexpr unsigned sample_shared_bytes = 16384;\n"
        "constexpr unsigned reduce_threads = 128;\n"
        "constexpr unsigned reduce_shared_bytes = 0;\n"
        "}  // namespace cubinet::parameters\n");
}

TEST_CASE("integers beyond int are long long and no type header is included without a dtype") {
  const std::string source = R"cu(/* cubinet-template {"name": "t", "interface": 1, "parameters": [
    {"name": "a", "type": "int"}, {"name": "b", "type": "int"}, {"name": "c", "type": "int"},
    {"name": "d", "type": "int"}, {"name": "e", "type": "int"}],
    "kernels": [{"name": "k", "threads": 32}]} */)cu";
  KernelSpec spec{"t", {}};
  spec.set("a", std::int64_t{2147483647})
      .set("b", std::int64_t{2147483648})
      .set("c", std::int64_t{INT64_MIN});
  spec.set("d", std::int64_t{-2147483648}).set("e", std::int64_t{INT64_MAX});
  const std::string header = header_of(source, spec);
  CHECK(header.find("types.cuh") == std::string::npos);
  CHECK(header.find("constexpr int a = 2147483647;\n") != std::string::npos);
  CHECK(header.find("constexpr long long b = 2147483648LL;\n") != std::string::npos);
  CHECK(header.find("constexpr long long c = -9223372036854775807LL - 1;\n") != std::string::npos);
  CHECK(header.find("constexpr int d = -2147483648;\n") != std::string::npos);
  CHECK(header.find("constexpr long long e = 9223372036854775807LL;\n") != std::string::npos);
}

TEST_CASE(
    "a value of each kind is written so that it is read as itself, as a constant or behind all as a macro") {
  const auto declared = [](bool macros) {
    std::string parameters;
    for (const char* parameter :
         {R"("b", "type": "bool")", R"("c", "type": "choice", "values": ["one", "2x1"])",
          R"("f", "type": "float")", R"("d", "type": "double")", R"("s", "type": "string")",
          R"("t", "type": "type")", R"("i", "type": "int")", R"("l", "type": "int[]")",
          R"("m", "type": "float[]")", R"("o", "type": "double[]")"}) {
      parameters += std::string(parameters.empty() ? "" : ",") + "{\"name\": " + parameter;
      if (macros) parameters += std::string(", \"macro\": \"P_") + parameter[1] + "\"";
      parameters += "}";
    }
    return "/* cubinet-template {\"name\": \"t\", \"interface\": 1, \"parameters\": [" + parameters +
           R"(, {"name": "n", "type": "identifier", "macro": "NAME"}], "kernels": [{"name": "k", "threads": 32}]} */)";
  };
  KernelSpec spec{"t", {}};
  spec.set("b", true)
      .set("c", "2x1")
      .set("f", 5)
      .set("d", -0.1)
      .set("s", "a\"\n?\?/\\z")
      .set("t", "A < int >");
  spec.set("i", -7)
      .set("l", std::vector<std::int64_t>{1, INT64_MIN})
      .set("m", std::vector<double>{1e-45, -1});
  spec.set("o", std::vector<std::int64_t>{1}).set("n", "my::op");
  CHECK(header_of(declared(false), spec) ==
        "#pragma once\n"
        "namespace cubinet::parameters {\n"
        "constexpr bool b = true;\n"
        "enum class c_values { one, _2x1 };\n"
        "constexpr c_values c = c_values::_2x1;\n"
        "constexpr float f = 5.0f;\n"
        "constexpr double d = -0.1;\n"
        "constexpr char s[] = \"a\\042\\012\\077\\077/\\134z\";\n"
        "using t = A<int>;\n"
        "constexpr int i = -7;\n"
        "constexpr long long l[] = {1, -9223372036854775807LL - 1};\n"
        "constexpr float m[] = {1e-45f, -1.0f};\n"
        "constexpr double o[] = {1.0};\n"
        "constexpr unsigned k_threads = 32;\n"
        "constexpr unsigned k_shared_bytes = 0;\n"
        "}  // namespace cubinet::parameters\n"
        "#define NAME my::op\n");
  CHECK(header_of(declared(true), spec) ==
        "#pragma once\n"
        "namespace cubinet::parameters {\n"
        "constexpr unsigned k_threads = 32;\n"
        "constexpr unsigned k_shared_bytes = 0;\n"
        "}  // namespace cubinet::parameters\n"
        "#define P_b 1\n"
        "#define P_c 2x1\n"
        "#define P_f 5.0f\n"
        "#define P_d (-0.1)\n"
        "#define P_s \"a\\042\\012\\077\\077/\\134z\"\n"
        "#define P_t A<int>\n"
        "#define P_i (-7)\n"
        "#define P_l 1, -9223372036854775807LL - 1\n"
        "#define P_m 1e-45f, -1.0f\n"
        "#define P_o 1.0\n"
        "#define NAME my::op\n");
}
