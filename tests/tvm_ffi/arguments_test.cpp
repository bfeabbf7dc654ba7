// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include "ffi_values.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::test;
using namespace cubinet::tvm_ffi;

namespace {

Arguments one(const Value& value) {
  return {&value, 1};
}

template <class T>
std::string message(const Result<T>& result) {
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::invalid_argument);
  return result.error().message;
}

}  // namespace

TEST_CASE("arguments are read in their order") {
  const Value values[] = {integer(7), number(0.5), boolean(true), text_value("HND"), none()};
  Arguments arguments(values, 5);
  CHECK(arguments.check_count("a, b, c, d, e"));
  CHECK(*arguments.integer("a") == 7);
  CHECK(*arguments.number("b", 1) == 0.5);
  CHECK(*arguments.flag("c"));
  CHECK(arguments.left() == 2);
  CHECK(*arguments.text("d") == "HND");
  CHECK(*arguments.number("e", 3) == 3);
  CHECK(arguments.left() == 0);
}

TEST_CASE("a number may be an integer, a flag an integer, and nothing else is converted") {
  CHECK(*one(integer(3)).number("a", 0) == 3);
  CHECK_FALSE(*one(integer(0)).flag("a"));
  CHECK(message(one(number(1)).integer("a")) == "'a' (argument 1) is a number");
  CHECK(message(one(boolean(true)).integer("a")) == "'a' (argument 1) is a boolean");
  CHECK(message(one(text_value("x")).number("a", 0)) == "'a' (argument 1) is a text");
  CHECK(message(one(none()).flag("a")) == "'a' (argument 1) is None");
  CHECK(message(one(integer(1)).text("a")) == "'a' (argument 1) is an integer");
  CHECK(message(one(integer(1)).tensor("q")) == "'q' (argument 1) is an integer");
  Value other{71, 0, {}};
  CHECK(message(one(other).tensor("q")) == "'q' (argument 1) is a value of tvm-ffi's type 71");
  Value empty{kTensor, 0, {}};
  CHECK(!one(empty).tensor("q"));
}

TEST_CASE("texts of all forms are read") {
  Value small{kSmallText, 3, {}};
  std::memcpy(small.small_text, "NHD", 3);
  CHECK(*one(small).text("a") == "NHD");
  struct {
    Object header = {1, kText, 0, nullptr};
    TextCell cell = {"a long text", 11};
  } object;
  Value text{kText, 0, {}};
  text.pointer = &object;
  CHECK(*one(text).text("a") == "a long text");
}

TEST_CASE("tensors come as pointers and as objects") {
  FfiTensor tensor({2, 3}, {kDLBfloat, 16, 1}, 0x1000);
  CHECK(one(tensor.value()).next_is_tensor());
  const Value pointer = tensor.value();
  CHECK(shape_text(*one(pointer).tensor("q")) == "[2, 3]");
  CHECK((*one(pointer).tensor_or_none("q"))->address == 0x1000);
  struct {
    Object header = {1, kTensor, 0, nullptr};
    DLTensor tensor = {};
  } object;
  object.tensor = tensor.tensor();
  Value boxed{kTensor, 0, {}};
  boxed.pointer = &object;
  CHECK(one(boxed).tensor("q")->address == 0x1000);
  const Value nothing = none();
  CHECK_FALSE((*one(nothing).tensor_or_none("q")).has_value());
  CHECK_FALSE(one(nothing).next_is_tensor());
}

TEST_CASE("a wrong number of arguments is an error with the names") {
  const Value values[] = {integer(7)};
  const auto counted = Arguments(values, 1).check_count("a, b");
  CHECK(message(counted) == "1 arguments are given, and 2 are taken");
  CHECK(counted.error().remedy == "pass a, b");
}
