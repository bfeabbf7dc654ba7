// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_object.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("members are read by type") {
  const auto value = parse_strict_json(R"({"t": "x", "i": -5, "f": true, "a": [1]})");
  REQUIRE(value);
  auto object = JsonObject::open(*value, "it");
  REQUIRE(object);
  CHECK(*object->text("t") == "x");
  CHECK(*object->integer("i") == -5);
  CHECK(*object->flag_or("f", false));
  CHECK((*object->array_or_empty("a"))->size() == 1);
  CHECK(*object->text_or("absent", "fallback") == "fallback");
  CHECK(*object->integer_or("absent", 9) == 9);
  CHECK((*object->array_or_empty("absent"))->empty());
  CHECK(object->finish());
}

TEST_CASE("a member of another type, one that is missing and one that nobody knows are errors") {
  const auto value = parse_strict_json(R"({"i": 1.5, "u": 18446744073709551615, "summry": "x"})");
  REQUIRE(value);
  auto object = JsonObject::open(*value, "it");
  REQUIRE(object);
  CHECK_FALSE(object->integer("i"));
  CHECK_FALSE(object->integer("u"));
  CHECK_FALSE(object->text("i"));
  CHECK_FALSE(object->flag_or("i", true));
  CHECK_FALSE(object->array_or_empty("i"));
  CHECK(object->get("name").error().message == "it: the member 'name' is missing");
  CHECK(*object->text_or("summary", "") == "");
  const auto finished = object->finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message == "it: there is no member 'summry'; did you mean 'summary'?");
  CHECK_FALSE(JsonObject::open(nlohmann::json(5), "it"));
}

TEST_CASE("what the format forbids is refused, also where the library is lenient") {
  CHECK_FALSE(parse_strict_json(R"({"a": 1, "a": 2})"));
  CHECK_FALSE(parse_strict_json(R"({"o": {"a": 1, "a": 2}})"));
  CHECK(parse_strict_json(R"([{"a": 1}, {"a": 2}])"));
  CHECK_FALSE(parse_strict_json(R"({"a": 1} x)"));
  CHECK_FALSE(parse_strict_json(R"({"a": 1,})"));
  CHECK_FALSE(parse_strict_json(""));
  CHECK_FALSE(parse_strict_json("{\"a\": \"\xff\"}"));
  CHECK_FALSE(parse_strict_json(std::string(100000, '[')));
  CHECK_FALSE(parse_strict_json(std::string(20, '[') + std::string(20, ']')));
}

TEST_CASE("a zero byte does not end a text, it is an error") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"{}\0"sv, "{}\0 junk }{"sv, "{\n}\n\0\n{}"sv, "{\0}"sv, "\0{}"sv, "{\"a\": \"\0\"}"sv}) {
    CHECK_FALSE(parse_strict_json(text));
    CHECK_FALSE(parse_json_document(text));
  }
  CHECK(parse_strict_json("{\n}\n\0\n{}"sv).error().native == 3);
}

TEST_CASE("a syntax error tells where it is") {
  const auto value = parse_strict_json("{\n\"a\":\ntru}\n");
  REQUIRE_FALSE(value);
  CHECK(value.error().code == ErrorCode::invalid_argument);
  CHECK(value.error().native == 3);
  CHECK(parse_strict_json("").error().native == 1);
}

TEST_CASE("an error of a document names the line of its member, or of the object that lacks it") {
  const auto document = parse_json_document(
      "{\n\"a\": 12\n,\n\"list\": [ 1,\n{\"x\":\n\n5\n}, [\n], {\"y\": 1}],\n\"z\": {} }");
  REQUIRE(document);
  auto object = JsonObject::open(*document->value, "it", &document->lines);
  REQUIRE(object);
  CHECK(object->text("a").error().native == 2);
  CHECK(object->text("b").error().native == 1);
  CHECK(object->error_at("list", "wrong").native == 4);
  const nlohmann::json& list = *object->get("list").value();
  auto inner = object->inner(list[1], "inner");
  REQUIRE(inner);
  CHECK(inner->error("wrong").native == 5);
  CHECK(inner->text("x").error().native == 5);
  CHECK(inner->finish());
  CHECK(object->inner(list[2], "no object").error().native == 8);
  CHECK(object->inner(list[3], "inner")->finish().error().native == 9);
  CHECK(object->error_of(list[0], "wrong").native == 4);
  CHECK(object->finish().error().native == 10);
  CHECK(parse_json_document("{\"a\": 1,\n\n\"a\": 2\n}").error().native == 3);
  CHECK(parse_json_document("[\n[[[[[[[[\n[]]]]]]]]]]").error().native == 3);
}

TEST_CASE("a document of very many values is refused where its lines are asked for, and takes no time") {
  std::string numbers = "[0", objects = "[{}";
  for (int i = 0; i < 200'000; ++i) {
    numbers += ",1";
    objects += ",{}";
  }
  CHECK(parse_strict_json(numbers + "]"));
  CHECK_FALSE(parse_json_document(numbers + "]"));
  CHECK(parse_strict_json(objects + "]"));
  CHECK(parse_json_document(objects + "]").error().message.find("more than 100000 values") !=
        std::string::npos);
}
