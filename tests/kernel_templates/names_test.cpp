// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("identifiers are lower case names that are no words of the language") {
  for (const char* name : {"a", "head_dim_qk", "x1", "int8", "do_it"})
    CHECK_MESSAGE(is_identifier(name), name);
  for (const char* name :
       {"", "A", "1x", "_x", "a-b", "a b", "int", "template", "do", "tru\xc3\xa9", "x;y"}) {
    CHECK_MESSAGE(!is_identifier(name), name);
  }
  CHECK(is_identifier(std::string(64, 'a')));
  CHECK_FALSE(is_identifier(std::string(65, 'a')));
}

TEST_CASE("the nearest name comes first") {
  CHECK(nearest_first({"mask", "head_dim", "rows"}, "head_dmi").front() == "head_dim");
  CHECK(nearest_first({"b", "a"}, "c") == std::vector<std::string>{"a", "b"});
  CHECK(nearest_first({}, "c").empty());
}

TEST_CASE("text from outside is shortened and shows no control characters") {
  CHECK(printable("a\nb\x1b[31m") == "a?b?[31m");
  CHECK(printable(std::string(500, 'x')) == std::string(120, 'x') + "...");
  CHECK(join({"a", "b"}, ", ") == "a, b");
  CHECK(join({}, ", ").empty());
}
