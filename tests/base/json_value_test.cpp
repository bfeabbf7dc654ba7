// SPDX-License-Identifier: Apache-2.0
#include "support/failing_allocations.hpp"

#include <cubinet/base/json_value.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("a value holds what the text says") {
  const auto value =
      parse_json(R"({"z": [1, -2.5, "a\u00e9\n", true, null, {}], "b": 18446744073709551615})");
  REQUIRE(value);
  REQUIRE(value->is_object());
  REQUIRE(value->members().size() == 2);
  CHECK(value->members()[0].name == "b");
  const JsonValue& large = value->members()[0].value;
  CHECK(large.is_integer());
  CHECK(large.is_number());
  CHECK_FALSE(large.integer());
  CHECK(large.literal() == "18446744073709551615");
  const JsonValue::List& list = value->find("z")->items();
  REQUIRE(list.size() == 6);
  CHECK(list[0].integer() == 1);
  CHECK(list[0].number() == 1.0);
  CHECK_FALSE(list[1].integer());
  CHECK(list[1].number() == -2.5);
  CHECK(list[1].literal() == "-2.5");
  CHECK(list[2].text() == "a\u00e9\n");
  CHECK(list[3].flag());
  CHECK(list[3].literal() == "true");
  CHECK(list[4].literal() == "null");
  CHECK(list[5].members().empty());
  CHECK(value->find("y") == nullptr);
  CHECK(list[0].find("y") == nullptr);
  CHECK(value->text_of("z").empty());
  CHECK(parse_json(R"({"t": "x"})")->text_of("t") == "x");
  CHECK(parse_json("-9223372036854775808")->integer() == INT64_MIN);
}

TEST_CASE("text is quoted so that it reads as the same text, and other bytes are replaced") {
  for (const std::string text : {"", "a/b", "\"quotes\" and \\", "line\n\ttab\x01", "gr\u00fc\u00df"})
    CHECK(parse_json(quoted_json(text))->text() == text);
  CHECK(quoted_json("a\x01") == "\"a\\u0001\"");
  CHECK(parse_json(quoted_json("a\xff"))->text() == "a\xef\xbf\xbd");
}

TEST_CASE("what the format forbids is refused, also where the library is lenient") {
  CHECK_FALSE(parse_json(R"({"a": 1, "a": 2})"));
  CHECK_FALSE(parse_json(R"({"o": {"a": 1, "a": 2}})"));
  CHECK(parse_json(R"([{"a": 1}, {"a": 2}])"));
  CHECK_FALSE(parse_json(R"({"a": 1} x)"));
  CHECK_FALSE(parse_json(R"({"a": 1,})"));
  CHECK_FALSE(parse_json(""));
  CHECK_FALSE(parse_json("{\"a\": \"\xff\"}"));
  CHECK_FALSE(parse_json(std::string(100000, '[')));
  CHECK_FALSE(parse_json(std::string(20, '[') + std::string(20, ']')));
}

TEST_CASE("a byte order mark is an error") {
  const auto refused = parse_json("\xEF\xBB\xBF{}");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("byte order mark") != std::string::npos);
  CHECK(parse_json("[\"\xEF\xBB\xBF\"]"));
}

TEST_CASE("a zero byte does not end a text, it is an error") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"{}\0"sv, "{}\0 junk }{"sv, "{\n}\n\0\n{}"sv, "{\0}"sv, "\0{}"sv, "{\"a\": \"\0\"}"sv}) {
    CHECK_FALSE(parse_json(text));
  }
  CHECK(parse_json("{\n}\n\0\n{}"sv).error().native == 3);
}

TEST_CASE("a syntax error tells where it is") {
  const auto value = parse_json("{\n\"a\":\ntru}\n");
  REQUIRE_FALSE(value);
  CHECK(value.error().code == ErrorCode::invalid_argument);
  CHECK(value.error().native == 3);
  CHECK(parse_json("").error().native == 1);
  CHECK(parse_json("{\"a\": 1,\n\n\"a\": 2\n}").error().native == 3);
  CHECK(parse_json("[\n[[[[[[[[\n[]]]]]]]]]]").error().native == 3);
}

TEST_CASE("a text of very many values is refused") {
  std::string numbers = "[0";
  for (int i = 0; i < 999'998; ++i)
    numbers += ",1";
  CHECK(parse_json(numbers + "]"));
  CHECK(parse_json(numbers + ",1]").error().message == "it has more than 1000000 values");
}

// Values are destroyed while memory is exhausted, so destruction must not allocate.
TEST_CASE("memory that is exhausted anywhere in a JSON text is an exception and no end") {
  for (
      const std::string_view text :
      {R"({"a": [1, [2, "a text that is too long to be stored within a string"], {"b": {"c": []}}], "d": 1.5})",
       R"({"a": 1, "a": 2})", R"([1, [2, {"a": tru}]])"}) {
    const bool parses = parse_json(text).has_value();
    const auto failed = fail_each_allocation(
        1, [] { return 0; },
        [&](int) {
          const bool parsed = parse_json(text).has_value();
          fail_allocation(0);
          CHECK(parsed == parses);
        });
    CHECK(failed > 10);
  }
}
