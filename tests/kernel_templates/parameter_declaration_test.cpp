// SPDX-License-Identifier: Apache-2.0
#include "parameter_check.hpp"

#include <cubinet/kernel_templates/kernel_template.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

ParameterDeclaration declaration(ParameterType type, std::vector<ParameterValue> values = {}) {
  ParameterDeclaration parameter;
  parameter.name = "p";
  parameter.type = type;
  parameter.values = std::move(values);
  return parameter;
}

const ParameterDeclaration kListed =
    declaration(ParameterType::integer, {std::int64_t{64}, std::int64_t{128}, std::int64_t{256}});
const ParameterDeclaration kFlag = declaration(ParameterType::flag);
const ParameterDeclaration kChoice =
    declaration(ParameterType::choice, {std::string("causal"), std::string("dense")});

ParameterDeclaration ranged() {
  ParameterDeclaration parameter = declaration(ParameterType::integer);
  parameter.minimum = std::int64_t{8};
  parameter.maximum = std::int64_t{65536};
  parameter.multiple_of = 8;
  return parameter;
}

}  // namespace

TEST_CASE("a declaration tells what it allows") {
  CHECK(kListed.allowed() == "one of 64, 128, 256");
  CHECK(ranged().allowed() == "8 to 65536, a multiple of 8");
  CHECK(kFlag.allowed() == "true or false");
  CHECK(kChoice.allowed() == "one of causal, dense");
  ParameterDeclaration open = declaration(ParameterType::integer);
  CHECK(open.allowed() == "any integer");
  open.minimum = std::int64_t{1};
  CHECK(open.allowed() == "1 or more");
  open.minimum.reset();
  open.maximum = std::int64_t{4};
  CHECK(open.allowed() == "4 or less");
  CHECK(declaration(ParameterType::choice, {std::string("only")}).allowed() == "only");
  CHECK(declaration(ParameterType::float32).allowed() == "any number");
  CHECK(declaration(ParameterType::float64_list).allowed() == "a list of 1 to 4096 numbers");
  CHECK(declaration(ParameterType::string).allowed() == "any ASCII text, at most 4096 characters");
}

TEST_CASE("text becomes a value of the declared type") {
  CHECK(std::get<std::int64_t>(*parse_parameter_value(kListed, "128")) == 128);
  CHECK(std::get<bool>(*parse_parameter_value(kFlag, "true")));
  CHECK_FALSE(std::get<bool>(*parse_parameter_value(kFlag, "false")));
  CHECK(std::get<std::string>(*parse_parameter_value(kChoice, "dense")) == "dense");
  CHECK(std::get<std::int64_t>(*parse_parameter_value(ranged(), "65536")) == 65536);
}

TEST_CASE("text that is not allowed is refused with the name, the value and what is allowed") {
  const auto refused = [](const ParameterDeclaration& parameter, std::string_view text) {
    const auto value = parse_parameter_value(parameter, text);
    REQUIRE_MESSAGE(!value, std::string(text));
    CHECK(value.error().code == ErrorCode::invalid_argument);
    CHECK(value.error().message.find("'p'") != std::string::npos);
    CHECK(value.error().message.find(text.substr(0, 5)) != std::string::npos);
    CHECK(value.error().remedy == "p is " + parameter.allowed());
  };
  for (const char* text : {"127", "129", "0", "-64", "", " 64", "64 ", "6 4", "0x40", "64.0", "64e0", "sixty",
                           "99999999999999999999"}) {
    refused(kListed, text);
  }
  for (const char* text : {"0", "7", "12", "65544", "-8"})
    refused(ranged(), text);
  for (const char* text : {"1", "TRUE", "yes", ""})
    refused(kFlag, text);
  for (const char* text : {"Causal", "", "causal "})
    refused(kChoice, text);
}

TEST_CASE("a number that is no integer has a range too, its ends included") {
  ParameterDeclaration share = declaration(ParameterType::float32);
  share.minimum = 0.0F;
  share.maximum = 0.1F;
  CHECK(share.allowed() == "0 to 0.1");
  for (const char* text : {"0", "-0.0", "0.05", "0.1"})
    CHECK_MESSAGE(parse_parameter_value(share, text), text);
  for (const char* text : {"-1e-30", "0.10000001", "1"})
    CHECK_FALSE_MESSAGE(parse_parameter_value(share, text), text);
  CHECK(parse_parameter_value(share, "2").error().remedy == "p is 0 to 0.1");
  ParameterDeclaration positive = declaration(ParameterType::float64);
  positive.minimum = 1e-300;
  CHECK(parse_parameter_value(positive, "1e300"));
  CHECK_FALSE(parse_parameter_value(positive, "0"));
}

TEST_CASE("a value of another type is refused, not converted") {
  CHECK_FALSE(admitted_value(kListed, std::string("128")));
  CHECK_FALSE(admitted_value(kListed, true));
  CHECK_FALSE(admitted_value(kFlag, std::int64_t{1}));
  CHECK_FALSE(admitted_value(kChoice, std::int64_t{0}));
  const auto checked = admitted_value(kListed, std::string("128"));
  CHECK(checked.error().message == "parameter 'p' cannot be '128', which is no int");
}

TEST_CASE("types have the names that declarations use") {
  CHECK(to_string(ParameterType::integer) == "int");
  CHECK(to_string(ParameterType::flag) == "bool");
  CHECK(to_string(ParameterType::data_type) == "dtype");
  CHECK(to_string(ParameterType::choice) == "choice");
}
