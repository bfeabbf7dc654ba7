// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/utf8.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace cubinet;

TEST_CASE("a character is read with its bytes, and no other sequence is one") {
  struct Expected {
    std::string text;
    std::uint32_t value;
    std::size_t bytes;
  };
  for (const Expected& expected : {Expected{"a", 'a', 1},
                                   {"\xc3\xa9", 0xe9, 2},
                                   {"\xe2\x82\xac", 0x20ac, 3},
                                   {"\xf0\x9f\x98\x80", 0x1f600, 4},
                                   {"\x80", 0, 0},
                                   {"\xc0\xaf", 0, 0},
                                   {"\xed\xa0\x80", 0, 0},
                                   {"\xf4\x90\x80\x80", 0, 0},
                                   {"\xe2\x82", 0, 0}}) {
    CAPTURE(expected.text);
    const Utf8Character character = first_character(expected.text + (expected.bytes == 0 ? "" : "b"));
    CHECK(character.value == expected.value);
    CHECK(character.bytes == expected.bytes);
  }
}

TEST_CASE("characters that drive a terminal or reorder a line are hidden, and letters are not") {
  for (const std::uint32_t hidden : {0x00U, 0x1bU, 0x7fU, 0x85U, 0xadU, 0x200bU, 0x2028U, 0x202eU, 0xe0041U})
    CHECK(is_hidden(hidden));
  for (const std::uint32_t shown : {0x20U, 0x7eU, 0xa0U, 0xe9U, 0x20acU, 0xfffdU, 0x1f600U})
    CHECK_FALSE(is_hidden(shown));
}
