// SPDX-License-Identifier: Apache-2.0
#include "minisign_text.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("a text is as many lines as are wanted, all ended alike") {
  CHECK(exact_lines("a\nb\n", 2) == std::vector<std::string_view>{"a", "b"});
  CHECK(exact_lines("a\r\nb\r\n", 2) == std::vector<std::string_view>{"a", "b"});
  CHECK(exact_lines("\n\n", 2) == std::vector<std::string_view>{"", ""});
  for (const std::string_view text : {"", "a", "a\n", "a\nb", "a\nb\nc", "a\nb\n\n", "a\r\nb\n", "a\nb\r\n",
                                      "a\r\nb\r", "a\rb\n\n", "a\r\r\nb\r\n"}) {
    CAPTURE(text);
    CHECK(exact_lines(text, 2).empty());
  }
}

TEST_CASE("an id is printed as a little endian number of sixteen digits") {
  std::array<std::byte, 8> id{std::byte{0xcd}, std::byte{0xab}};
  CHECK(key_id_text(id) == "000000000000ABCD");
}

TEST_CASE("a comment has tabs and no other control characters") {
  CHECK(is_comment("timestamp:1\tfile:x"));
  CHECK_FALSE(is_comment("a\nb"));
  CHECK_FALSE(is_comment("a\x1b[0m"));
  CHECK_FALSE(is_comment(std::string_view("a\0b", 3)));
}
