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
