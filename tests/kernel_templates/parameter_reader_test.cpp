// SPDX-License-Identifier: Apache-2.0
#include "parameter_reader.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

Result<ReadParameter> parameter_read(const std::string& json, const ExpressionSymbols& before = {}) {
  const auto document = parse_json("{\n\"p\":" + json + "}");
  REQUIRE_MESSAGE(document, document.error().message);
  return read_parameter(*document->find("p"), before);
}

void parameter_refused(const std::string& json, std::string_view reason) {
  const auto parameter = parameter_read(json);
  REQUIRE_MESSAGE(!parameter, json);
  CHECK_MESSAGE(parameter.error().message.find(reason) != std::string::npos, parameter.error().message);
}

}  // namespace

TEST_CASE("a parameter of every kind is read") {
  for (const char* type :
       {"int", "bool", "float", "double", "string", "type", "int[]", "float[]", "double[]"}) {
    const auto parameter = parameter_read(std::string(R"({"name": "p", "type": ")") + type + "\"}");
    REQUIRE_MESSAGE(parameter, parameter.error().message);
    CHECK(to_string(parameter->declaration.type) == type);
    CHECK(parameter->declaration.word() == "p");
  }
  const auto named =
      parameter_read(R"({"name": "p", "type": "identifier", "macro": "OP", "values": ["my::f", "g"]})");
  REQUIRE(named);
  CHECK(named->declaration.word() == "OP");
  CHECK(parameter_read(R"({"name": "p", "type": "choice", "values": ["2x1", "1x1"], "default": "2x1"})"));
  const auto list =
      parameter_read(R"({"name": "p", "type": "float[]", "values": [[1, 2], [0.5]], "default": [5e-1]})");
  REQUIRE(list);
  CHECK(list->declaration.allowed() == "one of 1,2 or 0.5");
  CHECK(*list->declaration.default_value == ParameterValue(std::vector<float>{0.5F}));
  const auto type = parameter_read(
      R"({"name": "p", "type": "type", "values": ["A< int >", "float"], "default": "A<int>"})");
  REQUIRE(type);
  CHECK(type->declaration.values[0] == ParameterValue(std::string("A<int>")));
}

TEST_CASE("a macro that cannot be one is refused, and an identifier without one") {
  parameter_refused(R"({"name": "p", "type": "int", "macro": "__CUDA_ARCH__"})", "keeps for itself");
  parameter_refused(R"({"name": "p", "type": "int", "macro": ""})", "cannot name a macro");
  parameter_refused(R"({"name": "p", "type": "int", "macro": 5})", "'macro' is no string");
  parameter_refused(R"({"name": "p", "type": "identifier"})", "'macro' names it");
}

TEST_CASE("values that a type has not are refused") {
  parameter_refused(R"({"name": "p", "type": "float", "values": [1, 1.0]})", "is repeated");
  parameter_refused(R"({"name": "p", "type": "float", "default": "1"})", "no float");
  parameter_refused(R"({"name": "p", "type": "float", "multiple_of": 1})", "no member 'multiple_of'");
  parameter_refused(R"({"name": "p", "type": "string", "minimum": "a"})", "no member 'minimum'");
  parameter_refused(R"({"name": "p", "type": "float[]", "maximum": 1})", "no member 'maximum'");
  parameter_refused(R"({"name": "p", "type": "double", "default": null})",
                    "is no flag, number, text or list");
  parameter_refused(R"({"name": "p", "type": "int[]", "default": []})", "a list of 0 numbers");
  parameter_refused(R"({"name": "p", "type": "int[]", "values": [1]})", "no int[]");
  parameter_refused(R"({"name": "p", "type": "type", "default": "int;"})", "no type in C++");
  parameter_refused(R"({"name": "p", "type": "string", "values": ["a", "a"]})", "is repeated");
  parameter_refused(R"({"name": "p", "type": "string", "values": ["a"], "default": "b"})",
                    "default is not allowed");
}

TEST_CASE("numbers of either kind have a range, of their own type") {
  const auto share = parameter_read(R"({"name": "p", "type": "float", "minimum": 0, "maximum": 0.1})");
  REQUIRE_MESSAGE(share, share.error().message);
  CHECK(*share->declaration.minimum == ParameterValue(0.0F));
  CHECK(*share->declaration.maximum == ParameterValue(0.1F));
  const auto half = parameter_read(R"({"name": "p", "type": "double", "maximum": 1, "default": -1e300})");
  REQUIRE_MESSAGE(half, half.error().message);
  CHECK_FALSE(half->declaration.minimum);
  CHECK(half->declaration.allowed() == "1 or less");
  parameter_refused(R"({"name": "p", "type": "float", "minimum": 1, "default": 0.5})", "not allowed");
  parameter_refused(R"({"name": "p", "type": "float", "minimum": 0.2, "maximum": 0.1})",
                    "exceeds its maximum");
  parameter_refused(R"({"name": "p", "type": "float", "minimum": 1e300})", "near to");
  parameter_refused(R"({"name": "p", "type": "float", "minimum": 0, "values": [1]})",
                    "both values and a range");
  parameter_refused(R"({"name": "p", "type": "int", "minimum": 0.5})", "no int");
}

TEST_CASE("a default is computed from parameters that stand before it") {
  const ExpressionSymbols before = {{"n", {ExpressionType::integer, false}},
                                    {"f", {ExpressionType::opaque, false}}};
  const auto parameter =
      parameter_read(R"({"name": "p", "type": "int", "default_expression": "n < 8 ? 1 : n / 8"})", before);
  REQUIRE_MESSAGE(parameter, parameter.error().message);
  CHECK_FALSE(parameter->declaration.default_value);
  CHECK(parameter->declaration.default_expression == "n < 8 ? 1 : n / 8");
  CHECK(*parameter->default_expression->evaluate({{"n", std::int64_t{64}}}) ==
        ParameterValue(std::int64_t{8}));
  CHECK(parameter_read(
      R"({"name": "p", "type": "choice", "values": ["a", "2x1"], "default_expression": "n > 1 ? 'a' : '2x1'"})",
      before));
  CHECK(parameter_read(R"({"name": "p", "type": "float", "default_expression": "f"})", before));
  CHECK(parameter_read(R"({"name": "p", "type": "bool", "default_expression": "n > 1"})", before));
  parameter_refused(R"({"name": "p", "type": "int", "default_expression": "p"})",
                    "no parameter is named 'p'");
  parameter_refused(R"({"name": "p", "type": "int", "default_expression": "'a'"})",
                    "has to be integer and is text");
  parameter_refused(R"({"name": "p", "type": "float", "default_expression": "1"})",
                    "has to be a float, double or list");
  parameter_refused(R"({"name": "p", "type": "int", "default_expression": "1", "default": 1})",
                    "both a default");
  parameter_refused(R"({"name": "p", "type": "int", "values": [1], "default_expression": "2"})",
                    "default is not allowed");
  parameter_refused(R"({"name": "p", "type": "int", "default_expression": "1 / 0"})", "division by zero");
  parameter_refused(R"({"name": "p", "type": "choice", "values": ["a"], "default_expression": "'b'"})",
                    "cannot be 'b'");
}

TEST_CASE("an error of a parameter has the line of its member") {
  const auto parameter = parameter_read("{\"name\": \"p\",\n\"type\": \"int\",\n\n\"values\": [1,\n1]}");
  REQUIRE_FALSE(parameter);
  CHECK(parameter.error().native == 6);
}
