// SPDX-License-Identifier: Apache-2.0
// tests/nvcc/command_line_test.cpp has the lines of whole command lines.
#include "support/ok.hpp"

#include <cubinet/sources/compile_line.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

TEST_CASE("A line of nvcc states source, output, target and flags") {
  const CompileLine line =
      ok(parse_compile_line({"-cubin", "-arch=sm_90a", "-DN=4", "-I", "a", "-isystem", "b", "d/x.cu"}));
  CHECK(line.source == "d/x.cu");
  CHECK(line.output == "x.cubin");
  CHECK(line.target.to_string() == "sm_90a");
  CHECK(line.flags.front() == "-DN=4");
  CHECK(line.include_directories == std::vector<std::string>{"a", "b"});
  CHECK(line.system_directories == 1);
  CHECK(parse_compile_line({"-cubin", "x.cu"}).error().message == "it states no architecture");
}

TEST_CASE("A value that nvcc refuses is for nvcc, also without an effect on device code") {
  for (const char* flag : {"-O", "--threads"}) {
    CHECK(parse_compile_line({"-cubin", "-arch=sm_90a", flag, "2", "x.cu"}).has_value());
    for (const char* value : {"fast", "", "2x"}) {
      CHECK(parse_compile_line({"-cubin", "-arch=sm_90a", flag, value, "x.cu"}).error().message ==
            "the value of '" + std::string(flag) + "' is no number");
    }
  }
}

TEST_CASE("Flags that state an architecture are recognised in each form") {
  CHECK(states_architecture({"-O3", "-arch=sm_90a"}));
  CHECK(states_architecture({"--gpu-architecture", "sm_90a"}));
  CHECK(states_architecture({"-gencode=arch=compute_90,code=sm_90"}));
  CHECK_FALSE(states_architecture({"-DARCH=1", "sm_90a", "-", "--use_fast_math"}));
}

}  // namespace
}  // namespace cubinet
