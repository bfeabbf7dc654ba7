// SPDX-License-Identifier: Apache-2.0
#include "parameter_value.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace cubinet;

namespace {

using Type = ParameterType;
using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

ParameterValue typed(Type type, const ParameterValue& given) {
  const auto made_of = value_of_type(type, given);
  REQUIRE_MESSAGE(made_of, made_of.error().message);
  return *made_of;
}

ParameterValue read_as(Type type, std::string_view given) {
  const auto made_of = value_of_text(type, given);
  REQUIRE_MESSAGE(made_of, made_of.error().message);
  return *made_of;
}

void value_refused(const Result<ParameterValue>& made, std::string_view reason) {
  REQUIRE_FALSE(made);
  CHECK_MESSAGE(made.error().message.find(reason) != std::string::npos, made.error().message);
}

}  // namespace

TEST_CASE("a number becomes the nearest of its type, and one that none is near to is refused") {
  CHECK(typed(Type::float32, 0.1) == ParameterValue(0.1F));
  CHECK(typed(Type::float32, std::int64_t{3}) == ParameterValue(3.0F));
  CHECK(typed(Type::float64, std::int64_t{3}) == ParameterValue(3.0));
  CHECK(typed(Type::float64, 0.5F) == ParameterValue(0.5));
  value_refused(value_of_type(Type::float32, 1e39), "no float is near to");
  value_refused(value_of_type(Type::float32, 1e-60), "no float is near to");
  value_refused(value_of_type(Type::float32, std::int64_t{16777217}), "no float is near to");
  value_refused(value_of_type(Type::float32, INT64_MAX), "no float is near to");
  value_refused(value_of_type(Type::float64, INT64_MAX), "no double is near to");
  CHECK(typed(Type::float64, INT64_MIN) == ParameterValue(-0x1p63));
  for (const double none :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    value_refused(value_of_type(Type::float64, none), "no double is near to");
    value_refused(value_of_type(Type::float64_list, Doubles{0, none}), "no double is near to");
  }
  value_refused(value_of_type(Type::integer, 1.0), "no int");
  value_refused(value_of_type(Type::float32, true), "no float");
  value_refused(value_of_type(Type::float32, std::string("1")), "no float");
}

TEST_CASE("minus zero is zero") {
  CHECK(to_string(typed(Type::float64, -0.0)) == "0");
  CHECK(std::signbit(std::get<float>(typed(Type::float32, -0.0))) == false);
  CHECK(std::signbit(std::get<Floats>(typed(Type::float32_list, Doubles{-0.0}))[0]) == false);
}

TEST_CASE("a list has numbers of one type, one at least and 4096 at most") {
  CHECK(typed(Type::float32_list, Integers{1, 2}) == ParameterValue(Floats{1, 2}));
  CHECK(typed(Type::float64_list, Integers{1, 2}) == ParameterValue(Doubles{1, 2}));
  CHECK(typed(Type::float32_list, Doubles{0.1}) == ParameterValue(Floats{0.1F}));
  value_refused(value_of_type(Type::integer_list, Doubles{1}), "no 64-bit integer");
  value_refused(value_of_type(Type::integer_list, Integers{}), "a list of 0 numbers");
  value_refused(value_of_type(Type::integer_list, Integers(1'000'000)), "a list of 1000000 numbers");
  value_refused(value_of_type(Type::integer_list, std::int64_t{1}), "no int[]");
  value_refused(value_of_type(Type::integer, Integers{1}), "no int");
}

TEST_CASE("text of each kind is what it can be and no more") {
  CHECK(typed(Type::type_name, std::string("A< int >")) == ParameterValue(std::string("A<int>")));
  value_refused(value_of_type(Type::type_name, std::string("int;")), "no type in C++");
  value_refused(value_of_type(Type::identifier, std::string("a b")), "no name in C++");
  value_refused(value_of_type(Type::data_type, std::string("float")), "no name of a data type");
  value_refused(value_of_type(Type::choice, std::string("2X1")), "[a-z0-9]");
  CHECK(typed(Type::string, std::string("a\"\n\?\?=")) == ParameterValue(std::string("a\"\n\?\?=")));
  value_refused(value_of_type(Type::string, std::string("\xc3\xa9")), "ASCII");
  value_refused(value_of_type(Type::string, std::string(1, '\0')), "ASCII");
  value_refused(value_of_type(Type::string, std::string(4097, 'a')), "longer than 4096");
  value_refused(value_of_type(Type::string, true), "no string");
}

TEST_CASE("text is read as the type has it") {
  CHECK(read_as(Type::float32, "1e-1") == read_as(Type::float32, "0.10"));
  CHECK(read_as(Type::float32, "5") == ParameterValue(5.0F));
  CHECK(read_as(Type::float64, "-0.0") == read_as(Type::float64, "0"));
  CHECK(read_as(Type::integer_list, "1,-2, 3 ") == ParameterValue(Integers{1, -2, 3}));
  CHECK(read_as(Type::float64_list, "1,.5") == ParameterValue(Doubles{1, 0.5}));
  CHECK(read_as(Type::string, "1,2") == ParameterValue(std::string("1,2")));
  for (const char* none : {"", "x", "1x", "+1", "0x10", "1,5", " 1", "nan", "inf", "-inf", "1e999", "1e-999"})
    CHECK_MESSAGE(!value_of_text(Type::float64, none), none);
  for (const char* none : {"", ",", "1,", ",1", "1,,2", "1 2", "1.5", "99999999999999999999"})
    CHECK_MESSAGE(!value_of_text(Type::integer_list, none), none);
  value_refused(value_of_text(Type::float64, "1e999"), "no double is near to");
  value_refused(value_of_text(Type::integer, "9223372036854775808"), "exceeds 64 bits");
  value_refused(value_of_text(Type::integer, "1.5"), "no int");
}

TEST_CASE("what is told of a value reads as the same value") {
  for (const float number : {0.1F, 1e-45F, 3.4028235e38F, -7.25F, 16777216.0F})
    CHECK(read_as(Type::float32, to_string(ParameterValue(number))) == ParameterValue(number));
  for (const double number : {0.1, 5e-324, 1.7976931348623157e308, -7.25, 1e22})
    CHECK(read_as(Type::float64, to_string(ParameterValue(number))) == ParameterValue(number));
  const ParameterValue list = Floats{0.1F, -3e38F};
  CHECK(read_as(Type::float32_list, to_string(list)) == list);
}
