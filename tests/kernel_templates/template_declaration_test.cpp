// SPDX-License-Identifier: Apache-2.0
#include "template_declaration.hpp"

#include "kernel_templates/sample_template.hpp"
#include "support/sampled.hpp"

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
  declaration_refused(with_declaration(R"({"name": "t", "interface": 1, "bse": "b.json"})"),
                      "did you mean 'base'?");
  declaration_refused(with_declaration(R"({"nam": "t"})"), "is it 'nam'?");
  declaration_refused(with_declaration(R"({"name": "t", "interface": 1,
                        "parameters": [{"name": "rows", "type": "int", "default": 1}],
                        "kernels": [{"name": "k", "threads": "rws * 2"}]})"),
                      "did you mean 'rows'?");
}

TEST_CASE("what a parameter cannot be is refused") {
  declaration_refused(with_parameter(R"({"name": "P", "type": "int"})"), "cannot name a parameter");
  declaration_refused(with_parameter(R"({"name": "int", "type": "int"})"), "no word of C++");
  declaration_refused(with_parameter(R"({"name": "p", "type": "half"})"), "is no type");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": []})"), "has no values");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": [1, 1]})"), "is repeated");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": [1.0]})"), "no int");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": [1], "minimum": 1})"),
                      "both values and a range");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "minimum": 2, "maximum": 1})"),
                      "exceeds its maximum");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "multiple_of": 0})"), "below 1");
  declaration_refused(with_parameter(R"({"name": "p", "type": "int", "values": [1], "default": 2})"),
                      "default is not allowed");
  declaration_refused(with_parameter(R"({"name": "p", "type": "dtype"})"), "has no values");
  declaration_refused(with_parameter(R"({"name": "p", "type": "dtype", "values": ["bf17"]})"),
                      "no name of a data type");
  declaration_refused(with_parameter(R"({"name": "p", "type": "choice", "values": ["auto"]})"),
                      "no word of C++");
  declaration_refused(with_parameter(R"({"name": "p", "type": "bool", "default": 1})"), "no bool");
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

TEST_CASE("a kernel may describe its launch, and an argument structure needs its size") {
  const auto declared = [](const std::string& members) {
    return parse_template_declaration(
        with_declaration(R"({"name": "t", "interface": 1, "kernels": [{"name": "k", "threads": 1)" + members +
                         "}]}"),
        "f.cu");
  };
  const auto full = declared(
      R"(, "parameter_bytes": 8, "argument": "my::Argument<4>", "argument_header": "my/a.h", "grid": "n / 8")");
  REQUIRE_MESSAGE(full, full.error().message);
  CHECK(full->kernels[0].interface.kernel == "k");
  CHECK(full->kernels[0].interface.argument == "my::Argument<4>");
  CHECK(full->kernels[0].interface.argument_header == "my/a.h");
  CHECK(full->kernels[0].interface.grid == "n / 8");
  CHECK(declared("")->kernels[0].interface.grid.empty());
  for (const char* wrong : {R"(, "argument": "A")", R"(, "parameter_bytes": 8, "argument": "a\nb")",
                            R"(, "argument_header": "a.h")", R"(, "grid": 4)"})
    CHECK_FALSE(declared(wrong));
}

TEST_CASE("an error names its own line") {
  const auto at = [](const std::string& json, std::string_view line) {
    const auto declaration =
        parse_template_declaration("// one\n/* cubinet-template\n" + json + " */\n", "f.cu");
    REQUIRE_FALSE(declaration);
    CHECK_MESSAGE(declaration.error().message.starts_with("f.cu:" + std::string(line) + ": "),
                  declaration.error().message);
  };
  const auto parameters_and_kernels = [](const std::string& parameters, const std::string& kernels) {
    return "{\"name\": \"t\",\n\"interface\": 1, \"parameters\":\n[" + parameters + "],\n\"kernels\": [" +
           kernels + "]}";
  };
  const std::string kernel = R"({"name": "k", "threads": 32})";
  at("{\n  \"name\": oops\n}", "4");
  at("{\n  \"name\": \"T\"\n}", "4");
  at("{\n  \"name\": \"t\", \"name\":\n\"u\"}", "4");
  at("{\"name\": \"t\",\n\n\"interface\": 0}", "5");
  at("{\"name\": \"t\",\n\n\"interface\": 1\n}", "3");
  at("[]", "3");
  at(parameters_and_kernels("\n{\"name\": \"p\",\n\"type\": \"half\"}", kernel), "7");
  at(parameters_and_kernels("\n{\"name\": \"p\",\n\"type\": \"int\", \"x\":\n1}", kernel), "7");
  at(parameters_and_kernels("\n5", kernel), "6");
  at(parameters_and_kernels("", "{\"name\": \"k\",\n\"threads\": \"m\"}"), "7");
  at(parameters_and_kernels("", kernel + ",\n" + kernel), "7");
  at(parameters_and_kernels("{\"name\": \"p\", \"type\": \"int\"},\n{\"name\": \"p\", \"type\": \"int\"}",
                            kernel),
     "6");
  at(parameters_and_kernels("", kernel).insert(1, "\n\"row\": {\n\"kernel_type\": \"'x'\"},"), "5");
  at(parameters_and_kernels("", kernel).insert(1, "\n\"options\": [\"-time=x\"],"), "4");
}

TEST_CASE("a declaration beside a source is the whole text, and alone") {
  const std::string json =
      "\n{\"name\": \"t\", \"interface\": 1,\n\"kernels\": [{\"name\": \"k\", \"threads\": 1}]}\n";
  CHECK(parse_template_declaration("int x;", "t.cubinet.json", json));
  const auto both = parse_template_declaration(test::kSampleSource, "t.cubinet.json", json);
  REQUIRE_FALSE(both);
  CHECK(both.error().message == "t.cubinet.json: its source begins with a declaration too");
  const auto wrong = parse_template_declaration("int x;", "t.cubinet.json", json + "x");
  REQUIRE_FALSE(wrong);
  CHECK_MESSAGE(wrong.error().message.starts_with("t.cubinet.json:4: it is no JSON"), wrong.error().message);
  CHECK_FALSE(parse_template_declaration("int x;", "t.cubinet.json", ""));
  CHECK_FALSE(parse_template_declaration("int x;", "t.cubinet.json", std::string((16 << 20) + 1, ' ')));
}

TEST_CASE("names of macros are no names of anything else") {
  const auto with_macros = [](const std::string& first, const std::string& second) {
    return with_parameter(R"({"name": "p", "type": "int", "macro": ")" + first +
                          R"("}, {"name": "q", "type": "choice", "values": ["a"], "macro": ")" + second +
                          "\"}");
  };
  CHECK(parse_template_declaration(with_macros("P", "Q"), "f"));
  CHECK(parse_template_declaration(with_macros("p", "q"), "f"));
  CHECK(parse_template_declaration(with_macros("P", "q_values"), "f"));
  declaration_refused(with_macros("P", "P"), "declared twice");
  declaration_refused(with_macros("q", "Q"), "declared twice");
  declaration_refused(with_macros("k_threads", "Q"), "declared twice");
  declaration_refused(with_macros("k", "Q"), "would replace the kernel's name");
  const std::string options = R"({"name": "t", "interface": 1, "options": ["-DP(x)=x"], "parameters": [
      {"name": "p", "type": "int", "macro": "P"}], "kernels": [{"name": "k", "threads": 1}]})";
  declaration_refused(with_declaration(options), "the macro 'P' of a parameter");
}

TEST_CASE("the words are told that neither the source nor an expression has") {
  const auto unused = [](const std::string& code, const std::string& kernel) {
    const auto declaration =
        parse_template_declaration(with_declaration(R"({"name": "t", "interface": 1, "parameters": [
            {"name": "a", "type": "int"}, {"name": "b", "type": "int", "macro": "B"},
            {"name": "c", "type": "int", "default_expression": "b"}], "kernels": [)" +
                                                    kernel + "]}") +
                                       code,
                                   "f");
    REQUIRE_MESSAGE(declaration.has_value(), declaration.error().message);
    return declaration->unused_words;
  };
  using Unused = std::vector<std::string>;
  const std::string kernel = R"({"name": "k", "threads": 1})";
  CHECK(unused("", kernel) == Unused{"a", "c"});
  CHECK(unused("f(a); c2", kernel) == Unused{"c"});
  CHECK(unused("", R"({"name": "k", "threads": "c", "symbol_expression": "k<parameters::a>"})") == Unused{});
  CHECK(unused("c", R"({"name": "k", "threads": 1, "cluster": ["a", 1, 1]})") == Unused{});
}

TEST_CASE("a source with a NUL is refused, since the compiler would not see the rest") {
  std::string source = test::kSampleSource;
  source.push_back('\0');
  declaration_refused(source, "NUL");
}

TEST_CASE("every truncation and every changed byte of a template gets an answer" *
          doctest::test_suite("loop")) {
  const std::string kinds = with_declaration(R"({"name": "t", "interface": 1, "parameters": [
    {"name": "f", "type": "float", "values": [0.5, 1e-1], "default": 0.5}, {"name": "d", "type": "double", "default": -0.0},
    {"name": "s", "type": "string", "macro": "S", "default": "a\\n\""}, {"name": "t", "type": "type", "values": ["A<int>"]},
    {"name": "n", "type": "identifier", "macro": "N"}, {"name": "c", "type": "choice", "values": ["2x1"]},
    {"name": "l", "type": "int[]", "values": [[1, 2], [3]]}, {"name": "m", "type": "double[]", "default": [1, 0.5]},
    {"name": "i", "type": "int", "default": 1}, {"name": "e", "type": "bool", "default_expression": "i > 2 && s == 'a'"}],
    "kernels": [{"name": "k", "threads": ["i", 2, "i / 2"]}]})") +
                            "f d t c l m e";
  CHECK(parse_template_declaration(kinds, "f"));
  std::size_t accepted = 0;
  const auto answers = [&](const std::string& text) {
    const auto declaration = parse_template_declaration(text, "f");
    if (declaration) {
      ++accepted;
    } else {
      CHECK(declaration.error().code == ErrorCode::invalid_argument);
    }
  };
  for (const std::string& source : {test::kSampleSource, kinds}) {
    for (const std::size_t size : test::sampled(source.size(), 23))
      answers(source.substr(0, size));
    for (const std::size_t i : test::sampled(source.size(), 23)) {
      for (const int mask : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
        std::string changed = source;
        changed[i] = static_cast<char>(changed[i] ^ mask);
        answers(changed);
      }
    }
  }
  CHECK(accepted > 0);
}
