// SPDX-License-Identifier: Apache-2.0
#include "expression.hpp"
#include "support/sampled.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace cubinet;

namespace {

const ExpressionSymbols kSymbols = {
    {"n", {ExpressionType::integer, false}},
    {"yes", {ExpressionType::flag, false}},
    {"mask", {ExpressionType::text, false}},
    {"dtype", {ExpressionType::text, true}},
};
const std::map<std::string, ParameterValue, std::less<>> kValues = {
    {"n", std::int64_t{7}}, {"yes", true}, {"mask", std::string("a")}, {"dtype", std::string("bf16")}};

void answers(const std::string& text) {
  const auto expression = Expression::parse(text, kSymbols);
  if (!expression) {
    CHECK(expression.error().code == ErrorCode::invalid_argument);
    return;
  }
  const auto value = expression->evaluate(kValues);
  if (!value) CHECK(value.error().code == ErrorCode::invalid_argument);
}

}  // namespace

TEST_CASE("what is no expression is refused with the column") {
  const auto refused = [](std::string_view text, std::string_view column, std::string_view reason) {
    const auto expression = Expression::parse(text, kSymbols);
    REQUIRE_MESSAGE(!expression, std::string(text));
    CHECK(expression.error().code == ErrorCode::invalid_argument);
    CHECK_MESSAGE(expression.error().message.find("column " + std::string(column) + ":") != std::string::npos,
                  expression.error().message);
    CHECK_MESSAGE(expression.error().message.find(reason) != std::string::npos, expression.error().message);
  };
  refused("", "1", "a value is expected");
  refused("n +", "4", "a value is expected");
  refused("n n", "3", "an operator is expected");
  refused("(n", "3", "')' is expected");
  refused("m + 1", "1", "no parameter is named 'm'");
  refused("n = 1", "3", "an operator is expected");
  refused("12ab", "3", "followed by a letter");
  refused("mask == 'a", "9", "no end");
  refused("sqrt(n)", "1", "no function 'sqrt'");
  refused("bytes(n)", "7", "dtype parameter");
  refused("bytes(mask)", "7", "dtype parameter");
  refused("min(n)", "6", "',' is expected");
  refused("yes ? 1", "8", "':' is expected");
}

TEST_CASE("operands of the wrong type are refused before anything is evaluated") {
  for (const char* text : {"n + yes", "n && yes", "!n", "-yes", "mask < 'b'", "mask == 1", "n ? 1 : 2",
                           "yes ? 1 : yes", "min(yes, 1)", "mask + mask", "yes || n"}) {
    const auto expression = Expression::parse(text, kSymbols);
    REQUIRE_MESSAGE(!expression, text);
    CHECK(expression.error().message.find("has to be") != std::string::npos);
  }
}

TEST_CASE("depth and length are limited") {
  CHECK(Expression::parse(std::string(20, '(') + "n" + std::string(20, ')'), kSymbols));
  CHECK_FALSE(Expression::parse(std::string(2000, '(') + "n" + std::string(2000, ')'), kSymbols));
  CHECK_FALSE(Expression::parse(std::string(2000, '-') + "n", kSymbols));
  CHECK_FALSE(Expression::parse(std::string(2000, '!') + "yes", kSymbols));
  CHECK_FALSE(Expression::parse(std::string(5000, ' ') + "n", kSymbols));
  std::string sum = "0";
  while (sum.size() < 4090)
    sum += "+1";
  const auto expression = Expression::parse(sum, kSymbols);
  REQUIRE(expression);
  CHECK(std::get<std::int64_t>(*expression->evaluate(kValues)) == static_cast<std::int64_t>(sum.size() / 2));
  std::string chain;
  for (int i = 0; i < 500; ++i)
    chain += "yes?1:";
  CHECK_FALSE(Expression::parse(chain + "2", kSymbols));
}

TEST_CASE("every truncation and every changed byte of an expression gets an answer" *
          doctest::test_suite("loop")) {
  const std::string text =
      "yes && (n * 3 - 2) % 5 >= min(n, 4) ? max(bytes(dtype), -n) / 2 : mask == 'abc' ? 1 : 0";
  REQUIRE(Expression::parse(text, kSymbols));
  for (std::size_t size = 0; size < text.size(); ++size)
    answers(text.substr(0, size));
  for (const std::size_t i : test::sampled(text.size(), 8)) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[i] = static_cast<char>(byte);
      answers(changed);
    }
  }
}

TEST_CASE("random sequences of tokens get an answer") {
  const std::vector<std::string> tokens = {
      "n",    "yes", "mask", "dtype", "bytes(", "min(", "max(",
      "(",    ")",   ",",    "+",     "-",      "*",    "/",
      "%",    "==",  "!=",   "<=",    "<",      "&&",   "||",
      "!",    "?",   ":",    "'a'",   "0",      "1",    "9223372036854775807",
      "true", " ",   "bits("};
  std::mt19937 random(1);
  for (int round = 0; round < 100000; ++round) {
    std::string text;
    for (std::size_t i = 0, count = random() % 12; i < count; ++i)
      text += tokens[random() % tokens.size()];
    answers(text);
  }
}
