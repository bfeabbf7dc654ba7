// SPDX-License-Identifier: Apache-2.0
#include "expression.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

const ExpressionSymbols kAllSymbols = {
    {"n", {ExpressionType::integer, false}},      {"zero", {ExpressionType::integer, false}},
    {"lowest", {ExpressionType::integer, false}}, {"yes", {ExpressionType::flag, false}},
    {"no", {ExpressionType::flag, false}},        {"mask", {ExpressionType::text, false}},
    {"dtype", {ExpressionType::text, true}},      {"small", {ExpressionType::text, true}},
};
const std::map<std::string, ParameterValue, std::less<>> kAllValues = {
    {"n", std::int64_t{7}},
    {"zero", std::int64_t{0}},
    {"lowest", INT64_MIN},
    {"yes", true},
    {"no", false},
    {"mask", std::string("causal")},
    {"dtype", std::string("fp32")},
    {"small", std::string("e2m1")},
};

Result<ParameterValue> compute(std::string_view text) {
  CUBINET_TRY_ASSIGN(const Expression expression, Expression::parse(text, kAllSymbols));
  return expression.evaluate(kAllValues);
}

std::int64_t integer(std::string_view text) {
  const auto value = compute(text);
  REQUIRE_MESSAGE(value, std::string(text));
  return std::get<std::int64_t>(*value);
}

bool flag(std::string_view text) {
  const auto value = compute(text);
  REQUIRE_MESSAGE(value, std::string(text));
  return std::get<bool>(*value);
}

}  // namespace

TEST_CASE("arithmetic follows the precedence and the truncation of C") {
  CHECK(integer("1 + 2 * 3") == 7);
  CHECK(integer("(1 + 2) * 3") == 9);
  CHECK(integer("20 - 5 - 3") == 12);
  CHECK(integer("100 / 7 / 2") == 7);
  CHECK(integer("-7 / 2") == -3);
  CHECK(integer("-7 % 2") == -1);
  CHECK(integer("--n") == 7);
  CHECK(integer("2 * -n") == -14);
  CHECK(integer("min(n, 3) + max(n, 3)") == 10);
  CHECK(integer("n > 6 ? 1 : 2") == 1);
  CHECK(integer("no ? 1 : yes ? 2 : 3") == 2);
  CHECK(integer("bytes(dtype) * 8") == 32);
  CHECK(integer("bits(small)") == 4);
}

TEST_CASE("comparisons and logic follow C") {
  CHECK(flag("1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3"));
  CHECK_FALSE(flag("1 == 2 || 2 != 2"));
  CHECK(flag("no && no || yes"));
  CHECK(flag("!no"));
  CHECK(flag("yes == !no"));
  CHECK(flag("mask == 'causal'"));
  CHECK(flag("mask != 'dense' && dtype == 'fp32'"));
  CHECK(flag("1 + 1 == 2"));
  CHECK(flag("true != false"));
}

TEST_CASE("the side that does not decide is not evaluated") {
  CHECK(flag("zero == 0 || 1 / zero == 1"));
  CHECK_FALSE(flag("zero != 0 && 1 / zero == 1"));
  CHECK(integer("zero == 0 ? 5 : 1 / zero") == 5);
  CHECK(integer("zero != 0 ? 1 / zero : 6") == 6);
}

TEST_CASE("what leaves 64 bits and what divides by zero is an error") {
  for (const char* text : {"9223372036854775807 + 1", "lowest - 1", "lowest * -1", "-lowest", "lowest / -1",
                           "lowest % -1", "1 / zero", "1 % zero", "4611686018427387904 * 2"}) {
    const auto value = compute(text);
    REQUIRE_MESSAGE(!value, text);
    CHECK(value.error().code == ErrorCode::invalid_argument);
    CHECK(value.error().message.find(text) != std::string::npos);
  }
  CHECK(integer("9223372036854775807") == INT64_MAX);
  CHECK(integer("-9223372036854775807 - 1") == INT64_MIN);
  CHECK_FALSE(compute("9223372036854775808"));
}

TEST_CASE("a type of half a byte has bits and no bytes") {
  const auto value = compute("bytes(small)");
  REQUIRE_FALSE(value);
  CHECK(value.error().message.find("bits()") != std::string::npos);
}

TEST_CASE("an expression tells its type, its text and the names it uses") {
  const auto expression = Expression::parse("n * 2 + n > zero", kAllSymbols);
  REQUIRE(expression);
  CHECK(expression->type() == ExpressionType::flag);
  CHECK(expression->text() == "n * 2 + n > zero");
  CHECK(expression->names() == std::vector<std::string>{"n", "zero"});
}

TEST_CASE("a name without a value is a broken promise, not a crash") {
  const auto expression = Expression::parse("n + 1", kAllSymbols);
  REQUIRE(expression);
  const auto value = expression->evaluate({});
  REQUIRE_FALSE(value);
  CHECK(value.error().code == ErrorCode::internal);
}
