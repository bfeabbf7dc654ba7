// SPDX-License-Identifier: Apache-2.0
#include "jit/test_templates.hpp"

#include <cubinet/jit/compiler.hpp>
#include <cubinet/kernel_templates/source_program.hpp>

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

TEST_CASE("the source of a program begins with its preludes") {
  SourceProgram program;
  program.text = "int own;\n";
  program.preludes = {{"a.h", "#pragma once\nint a;\n", ""}, {"b.h", "int b;\n", ""}};
  const auto source = specialised_source(test::request_of(*program.as_template()));
  REQUIRE(source);
  CHECK(source->find("int a;\nint b;\nint own;\n") != std::string::npos);
  CHECK(source->find("#pragma once") == std::string::npos);
}
