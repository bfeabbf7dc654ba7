// SPDX-License-Identifier: Apache-2.0
#include "jit/test_templates.hpp"
#include "nvrtc_program.hpp"
#include "support/compiler_search.hpp"

#include <cubinet/jit/compiler.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("the source of a specification names it and holds its parameters") {
  CompileRequest request = test::scale_request();
  request.spec.set("factor", 5);
  const auto source = specialised_source(request);
  REQUIRE(source);
  CHECK(source->starts_with("// scale(factor=5) for sm_90a\n"));
  CHECK(source->find("constexpr int factor = 5;") != std::string::npos);
  CHECK(source->find("#include <cubinet/") == std::string::npos);
  CHECK_FALSE(specialised_source(CompileRequest{}));
  request.spec.set("factor", 65);
  CHECK(specialised_source(request).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("the source of each template compiles alone, without a header beside it") {
  const auto compiler = Compiler::open(test::compiler_search());
  REQUIRE(compiler);
  const auto api = NvrtcApi::open((*compiler)->location().library, (*compiler)->location().builtins);
  REQUIRE(api);
  for (const char* name : {"attention_append", "attention_decode", "attention_lse", "attention_reduction",
                           "attention_wide", "rms_norm"}) {
    const auto source = specialised_source(test::builtin_request(name, "sm_90a"));
    REQUIRE(source);
    CHECK(source->find("#include") == std::string::npos);
    auto program = NvrtcProgram::create(**api, *source, "alone.cu", {});
    REQUIRE(program);
    CHECK_MESSAGE(program->compile({"--gpu-architecture=sm_90a", "--std=c++17"}) == NVRTC_SUCCESS,
                  program->log());
  }
}
