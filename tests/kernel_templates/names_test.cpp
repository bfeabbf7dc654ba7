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
