// SPDX-License-Identifier: Apache-2.0
#include "c_fixture.hpp"
#include "handles.hpp"

#include <cubinet/spec/kernel_spec.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

cubinet_status set_value(const CSpec& spec, const cubinet_value& value, Failure& failure) {
  return cubinet_spec_set(spec.get(), cubinet_str("p"), &value, failure.out());
}

}  // namespace

TEST_CASE("each type of value reaches the specification") {
  const CSpec spec = make_spec("scale");
  CHECK(spec->spec.name == "scale");
  const std::int64_t integers[] = {1, -2};
  const double numbers[] = {0.5, 0.25};
  const std::pair<std::int32_t, ParameterValue> values[] = {
      {CUBINET_VALUE_BOOL, true},
      {CUBINET_VALUE_INTEGER, std::int64_t{7}},
      {CUBINET_VALUE_TEXT, std::string("bf16")},
      {CUBINET_VALUE_FLOAT, 0.5F},
      {CUBINET_VALUE_DOUBLE, 0.5},
      {CUBINET_VALUE_INTEGERS, std::vector<std::int64_t>{1, -2}},
      {CUBINET_VALUE_FLOATS, std::vector<float>{0.5F, 0.25F}},
      {CUBINET_VALUE_DOUBLES, std::vector<double>{0.5, 0.25}},
  };
  for (const auto& [type, expected] : values) {
    cubinet_value value = CUBINET_VALUE_INIT;
    value.type = type;
    value.integer = type == CUBINET_VALUE_BOOL ? 1 : 7;
    value.number = 0.5;
    value.text = cubinet_str("bf16");
    value.integers = integers;
    value.numbers = numbers;
    value.count = 2;
    Failure failure;
    REQUIRE(set_value(spec, value, failure) == CUBINET_OK);
    CHECK(spec->spec.parameters.at("p") == expected);
  }
}

TEST_CASE("an unknown type, a missing list and a huge list are refused by name") {
  const CSpec spec = make_spec("scale");
  Failure failure;
  cubinet_value value = CUBINET_VALUE_INIT;
  value.type = 99;
  CHECK(set_value(spec, value, failure) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "`value.type` is 99");
  value.type = CUBINET_VALUE_BOOL;
  value.integer = 2;
  CHECK(set_value(spec, value, failure) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "`value.integer` is 2");
  value.type = CUBINET_VALUE_INTEGERS;
  value.count = 1;
  CHECK(set_value(spec, value, failure) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("value.integers") != std::string::npos);
  value.count = std::size_t{1} << 50;
  CHECK(set_value(spec, value, failure) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message().find("value.count") != std::string::npos);
  CHECK(spec->spec.parameters.empty());
}

TEST_CASE("specifications are made and set with valid pointers only") {
  Failure failure;
  CHECK(cubinet_spec_create(cubinet_str("x"), nullptr, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "the argument `spec` is NULL");
  cubinet_value value = CUBINET_VALUE_INIT;
  CHECK(cubinet_spec_set(nullptr, cubinet_str("p"), &value, failure.out()) == CUBINET_INVALID_ARGUMENT);
  const CSpec spec = make_spec("scale");
  CHECK(cubinet_spec_set(spec.get(), cubinet_str("p"), nullptr, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "the argument `value` is NULL");
  CHECK(cubinet_spec_set(spec.get(), cubinet_str(""), &value, failure.out()) == CUBINET_INVALID_ARGUMENT);
  CHECK(failure.message() == "`parameter` is empty");
  cubinet_spec_release(nullptr);
}
