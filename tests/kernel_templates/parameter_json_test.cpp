// SPDX-License-Identifier: Apache-2.0
#include <cubinet/kernel_templates/parameter_json.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

ParameterValue json_read(const char* text) {
  const auto parsed = parse_json(text);
  REQUIRE_MESSAGE(parsed, parsed.error().message);
  const auto value = parameter_value_from_json(*parsed);
  REQUIRE_MESSAGE(value, value.error().message);
  return *value;
}

void json_refused(std::string_view text, std::string_view reason) {
  const auto made = parameter_value_from_json(*parse_json(text));
  REQUIRE_FALSE(made);
  CHECK_MESSAGE(made.error().message.find(reason) != std::string::npos, made.error().message);
}

}  // namespace

TEST_CASE("a value is what JSON says that it is") {
  CHECK(json_read("true") == ParameterValue(true));
  CHECK(json_read("-5") == ParameterValue(std::int64_t{-5}));
  CHECK(json_read("0.1") == json_read("1e-1"));
  CHECK(json_read("0.1") == ParameterValue(0.1));
  CHECK(json_read(R"("bf16")") == ParameterValue(std::string("bf16")));
  CHECK(json_read("[1, -2]") == ParameterValue(std::vector<std::int64_t>{1, -2}));
  CHECK(json_read("[1, 0.5]") == ParameterValue(std::vector<double>{1, 0.5}));
}

TEST_CASE("what is no value is refused without being quoted at length") {
  json_refused("null", "null is no flag");
  json_refused("{}", "an object is no flag");
  json_refused("18446744073709551615", "exceeds 64 bits");
  json_refused(R"([1, "a"])", "holds something else than numbers");
  json_refused("[[1]]", "holds something else than numbers");
  json_refused("[18446744073709551615.0, true]", "holds something else than numbers");
}

TEST_CASE("a value is told as JSON that reads as the same value") {
  for (const char* text : {"true", "-5", "0.1", "\"bf16\"", "[1,-2]", "[1.0,0.5]", "1e+300"})
    CHECK_MESSAGE(json_read(to_json(json_read(text)).dump().c_str()) == json_read(text), text);
  CHECK(to_json(0.1F).dump() == "0.1");
  CHECK(to_json(std::vector<float>{0.1F, -0.0F}).dump() == "[0.1,0.0]");
  CHECK(to_json(-0.0).dump() == "0.0");
}
