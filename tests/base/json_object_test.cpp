// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/json_object.hpp>

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("members are read by type") {
  const auto value = parse_json(R"({"t": "x", "i": -5, "f": true, "a": [1]})");
  REQUIRE(value);
  auto object = JsonObject::open(*value, "it");
  REQUIRE(object);
  CHECK(*object->text("t") == "x");
  CHECK(*object->integer("i") == -5);
  CHECK(*object->flag_or("f", false));
  CHECK((*object->list_or_empty("a"))->size() == 1);
  CHECK(*object->text_or("absent", "fallback") == "fallback");
  CHECK(*object->integer_or("absent", 9) == 9);
  CHECK((*object->list_or_empty("absent"))->empty());
  CHECK(object->finish());
}

TEST_CASE("a member of another type, one that is missing and one that nobody knows are errors") {
  const auto value = parse_json(R"({"i": 1.5, "u": 18446744073709551615, "summry": "x"})");
  REQUIRE(value);
  auto object = JsonObject::open(*value, "it");
  REQUIRE(object);
  CHECK_FALSE(object->integer("i"));
  CHECK_FALSE(object->integer("u"));
  CHECK_FALSE(object->text("i"));
  CHECK_FALSE(object->flag_or("i", true));
  CHECK_FALSE(object->list_or_empty("i"));
  CHECK(object->get("name").error().message == "it: the member 'name' is missing");
  CHECK(*object->text_or("summary", "") == "");
  const auto finished = object->finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message == "it: there is no member 'summry'; did you mean 'summary'?");
  CHECK_FALSE(JsonObject::open(JsonValue(std::int64_t{5}), "it"));
}

TEST_CASE("a missing member is suspected in one that is spelled alike and was not read") {
  const auto value = parse_json(R"({"kernel": [], "templates": 1})");
  REQUIRE(value);
  auto object = JsonObject::open(*value, "it");
  REQUIRE(object);
  CHECK(object->get("kernels").error().message == "it: the member 'kernels' is missing; is it 'kernel'?");
  CHECK(object->integer("templates"));
  CHECK(object->get("template").error().message == "it: the member 'template' is missing");
}

TEST_CASE("an error of a document names the line of its member, or of the object that lacks it") {
  const auto document =
      parse_json("{\n\"a\": 12\n,\n\"list\": [ 1,\n{\"x\":\n\n5\n}, [\n], {\"y\": 1}],\n\"z\": {} }");
  REQUIRE(document);
  auto object = JsonObject::open(*document, "it");
  REQUIRE(object);
  CHECK(object->text("a").error().native == 2);
  CHECK(object->text("b").error().native == 1);
  CHECK(object->error_at("list", "wrong").native == 4);
  const JsonValue::List& list = *object->list_or_empty("list").value();
  auto inner = JsonObject::open(list[1], "inner");
  REQUIRE(inner);
  CHECK(inner->error("wrong").native == 5);
  CHECK(inner->text("x").error().native == 5);
  CHECK(inner->finish());
  CHECK(JsonObject::open(list[2], "no object").error().native == 8);
  CHECK(JsonObject::open(list[3], "inner")->finish().error().native == 9);
  CHECK(object->error_of(list[0], "wrong").native == 4);
  CHECK(object->finish().error().native == 10);
  CHECK(parse_json("{\"a\": 1,\n\n\"a\": 2\n}").error().native == 3);
  CHECK(parse_json("[\n[[[[[[[[\n[]]]]]]]]]]").error().native == 3);
}
