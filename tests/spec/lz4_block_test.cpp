// SPDX-License-Identifier: Apache-2.0
#include "lz4_block.hpp"

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

std::optional<std::string> unpacked(const std::string& packed, std::size_t size) {
  const auto bytes = unpack_lz4_block(as_bytes(packed), size);
  if (!bytes) return std::nullopt;
  return std::string(as_text(*bytes));
}

TEST_CASE("literals and matches are put together, one that overlaps what it makes included") {
  CHECK(unpacked({"\x30"
                  "abc",
                  4},
                 3) == "abc");
  // Three literals, a match of 6 at distance 3, then two literals.
  CHECK(unpacked({"\x32"
                  "abc\x03\x00"
                  "\x20xy",
                  9},
                 11) == "abcabcabcxy");
  // One literal, a match of 19 + 255 + 2 at distance 1.
  CHECK(unpacked({"\x1f"
                  "a\x01\x00\xff\x02"
                  "\x10z",
                  8},
                 278) == std::string(277, 'a') + "z");
  // The length of 15 and more literals continues in further bytes.
  CHECK(unpacked(std::string("\xf0\x05") + std::string(20, 'l'), 20) == std::string(20, 'l'));
  CHECK(unpacked({"\x00", 1}, 0) == "");
}

TEST_CASE("a block that reaches out of itself is none") {
  CHECK_FALSE(unpacked({"\x30"
                        "ab",
                        3},
                       3));  // missing literals
  CHECK_FALSE(unpacked({"\x32"
                        "abc\x04\x00"
                        "\x20xy",
                        9},
                       11));  // a match from before the beginning
  CHECK_FALSE(unpacked({"\x32"
                        "abc\x00\x00"
                        "\x20xy",
                        9},
                       11));  // a match at distance 0
  CHECK_FALSE(unpacked({"\x32"
                        "abc\x03",
                        5},
                       9));  // half a distance
  CHECK_FALSE(unpacked({"\x32"
                        "abc\x03\x00"
                        "\x20xy",
                        9},
                       10));  // more than the stated size
  CHECK_FALSE(unpacked({"\x32"
                        "abc\x03\x00"
                        "\x20xy",
                        9},
                       12));                         // less than the stated size
  CHECK_FALSE(unpacked({"\xf0\xff\xff", 3}, 1000));  // a length without an end
}

}  // namespace
}  // namespace cubinet
