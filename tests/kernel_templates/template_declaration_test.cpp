// SPDX-License-Identifier: Apache-2.0
#include "template_declaration.hpp"

#include "kernel_templates/sample_template.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

std::string with_declaration(const std::string& json) {
  return "/* cubinet-template " + json + " */\n";
}

std::string with_parameter(const std::string& json) {
  return with_declaration(R"({"name": "t", "interface": 1, "parameters": [)" + json +
                          R"(], "kernels": [{"name": "k", "threads": 32}]})");
}

std::string with_kernel(const std::string& json) {
  return with_declaration(
      R"({"name": "t", "interface": 1, "parameters": [{"name": "n", "type": "int", "default": 1}], "kernels": [)" +
      json + "]}");
}

void declaration_refused(const std::string& source, std::string_view reason) {
  const auto declaration = parse_template_declaration(source, "file.cu");
  REQUIRE_MESSAGE(!declaration, source);
  CHECK(declaration.error().code == ErrorCode::invalid_argument);
  CHECK(declaration.error().message.starts_with("file.cu:"));
  CHECK_MESSAGE(declaration.error().message.find(reason) != std::string::npos, declaration.error().message);
}

}  // namespace

TEST_CASE("a declaration with every member is read") {
  const auto declaration = parse_template_declaration(test::kSampleSource, "sample.cu");
  REQUIRE(declaration);
  CHECK(declaration->name == "sample");
  CHECK(declaration->interface_version == 3);
  CHECK(declaration->minimum_target == SmTarget{8, 0, TargetKind::baseline});
  REQUIRE(declaration->parameters.size() == 6);
  CHECK(declaration->parameters[3].multiple_of == 8);
  CHECK(declaration->constraints.size() == 2);
  REQUIRE(declaration->kernels.size() == 2);
  CHECK(declaration->kernels[0].parameter_bytes == 24);
  CHECK(declaration->kernels[0].cluster.size() == 3);
  CHECK(declaration->kernels[0].programmatic_launch);
  CHECK(declaration->kernels[1].cooperative);
  CHECK(declaration->kernels[1].symbol_expression == "my::reduce<cubinet::parameters::head_dim>");
}

TEST_CASE("the declaration has to be the first thing but comments") {
  CHECK(parse_template_declaration("\n\t// x\r\n/* y */ " + with_kernel(R"({"name": "k", "threads": 1})"),
                                   "f"));
  declaration_refused("", "does not begin with a template declaration");
  declaration_refused("int x; " + with_kernel(R"({"name": "k", "threads": 1})"),
                      "does not begin with a template declaration");
  declaration_refused("// only a line", "does not begin with a template declaration");
  declaration_refused("/* cubinet-template {", "has no end");
  declaration_refused("/* cubinet-templat {} */", "does not begin with a template declaration");
}

TEST_CASE("misspelt, repeated, missing and superfluous members are refused") {
  declaration_refused(with_declaration(R"({"nam": "t"})"), "'name' is missing");
  declaration_refused(with_declaration(R"({"name": "t", "interface": 1, "kernel": []})"),
                      "declares no kernel");
  declaration_refused(with_declaration(R"({"name": "t", "name": "u"})"), "'name' is repeated");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "vlaues": [1]})"),
                      "did you mean 'values'");
  declaration_refused(with_parameter(R"({"name": "p", "type": "bool", "values": [true]})"),
                      "no member 'values'");
  declaration_refused(with_parameter(R"({"name": "p", "type": "dtype", "values": ["bf16"], "minimum": 1})"),
                      "no member 'minimum'");
  declaration_refused(with_kernel(R"({"name": "k", "threads": 1, "shared": 0})"), "no member 'shared'");
  declaration_refused(with_declaration("[]"), "no JSON object");
}

TEST_CASE("what a parameter cannot be is refused") {
  declaration_refused(with_parameter(R"({"name": "P", "type": "int"})"), "cannot name a parameter");
  declaration_refused(with_parameter(R"({"name": "int", "type": "int"})"), "no word of C++");
  declaration_refused(with_parameter(R"({"name": "p", "type": "float"})"), "is no type");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": []})"), "has no values");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": [1, 1]})"), "is repeated");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": [1.0]})"), "64-bit integers");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": [1], "minimum": 1})"),
                      "both values and a range");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "minimum": 2, "maximum": 1})"),
                      "exceeds its maximum");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "multiple_of": 0})"), "below 1");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": [1], "default": 2})"),
                      "default is not allowed");
  declaration_refused(with_parameter(R"({"name": "p", "type": "dtype"})"), "has no values");
  declaration_refused(with_parameter(R"({"name": "p", "type": "dtype", "values": ["bf17"]})"),
                      "names of data types");
  declaration_refused(with_parameter(R"({"name": "p", "type": "choice", "values": ["auto"]})"),
                      "no words of C++");
  declaration_refused(with_parameter(R"({"name": "p", "type": "bool", "default": 1})"), "true or false");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int"}, {"name": "p", "type": "int"})"),
                      "declared twice");
  declaration_refused(with_parameter(R"({"name": "k_threads", "type": "int"})"), "declared twice");
}

TEST_CASE("what a kernel or constraint cannot be is refused") {
  declaration_refused(with_kernel(R"({"name": "k"})"), "'threads' is missing");
  declaration_refused(with_kernel(R"({"name": "k", "threads": "m"})"), "no parameter is named 'm'");
  declaration_refused(with_kernel(R"({"name": "k", "threads": "n > 1"})"), "has to be integer");
  declaration_refused(with_kernel(R"({"name": "k", "threads": 1.5})"), "neither an expression");
  declaration_refused(with_kernel(R"({"name": "k", "threads": 1, "parameter_bytes": 40000})"),
                      "not within 0 to 32764");
  declaration_refused(with_kernel(R"({"name": "k", "threads": 1, "parameter_bytes": -1})"),
                      "not within 0 to 32764");
  declaration_refused(with_kernel(R"({"name": "k", "threads": 1, "cluster": [1, 2]})"), "three dimensions");
  declaration_refused(with_kernel(R"({"name": "k", "threads": 1, "symbol_expression": ""})"), "no C++ name");
  declaration_refused(with_kernel(R"({"name": "k", "threads": 1}, {"name": "k", "threads": 1})"),
                      "declared twice");
  declaration_refused(with_declaration(R"({"name": "t", "interface": 0, "kernels": []})"), "'interface'");
  declaration_refused(
      with_declaration(R"({"name": "t", "interface": 1, "minimum_target": "sm_101", "kernels": []})"),
      "sm_101");
  declaration_refused(
      with_declaration(R"({"name": "t", "interface": 1, "constraints": [{"require": "1", "message": ""}],
                              "kernels": [{"name": "k", "threads": 1}]})"),
      "has to be true or false");
}

TEST_CASE("variables are declared by their names in the source, each once") {
  const auto declared = [](const std::string& globals) {
    return parse_template_declaration(
        R"(/* cubinet-template
{"name": "t", "interface": 1, "kernels": [{"name": "k", "threads": 1}], "globals": )" +
            globals + "} */\n",
        "f.cu");
  };
  const auto two = declared(R"(["scale", "ns::table<float>"])");
  REQUIRE_MESSAGE(two.has_value(), two.error().to_line());
  CHECK(two->globals == std::vector<std::string>{"scale", "ns::table<float>"});
  for (const char* wrong : {R"(["scale", "scale"])", R"([""])", "[1]", R"("scale")", R"(["a\nb"])"})
    CHECK(declared(wrong).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("an error names the line") {
  const auto declaration =
      parse_template_declaration("// one\n/* cubinet-template\n{\n  \"name\": oops\n} */\n", "f.cu");
  REQUIRE_FALSE(declaration);
  CHECK_MESSAGE(declaration.error().message.starts_with("f.cu:4: "), declaration.error().message);
}

TEST_CASE("a source with a NUL is refused, since the compiler would not see the rest") {
  std::string source = test::kSampleSource;
  source.push_back('\0');
  declaration_refused(source, "NUL");
}

TEST_CASE("every truncation and every changed byte of a template gets an answer" *
          doctest::test_suite("loop")) {
  const std::string& source = test::kSampleSource;
  std::size_t accepted = 0;
  const auto answers = [&](const std::string& text) {
    const auto declaration = parse_template_declaration(text, "f");
    if (declaration) {
      ++accepted;
    } else {
      CHECK(declaration.error().code == ErrorCode::invalid_argument);
    }
  };
  for (std::size_t size = 0; size < source.size(); ++size)
    answers(source.substr(0, size));
  for (std::size_t i = 0; i < source.size(); ++i) {
    for (const int mask : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      std::string changed = source;
      changed[i] = static_cast<char>(changed[i] ^ mask);
      answers(changed);
    }
  }
  CHECK(accepted > 0);
}
