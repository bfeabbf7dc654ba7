// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// What a name in C++ or JSON is made of: a letter of ASCII, a digit, an underscore.
constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the text with ASCII letters in lower case.
std::string lower_case(std::string_view text);

// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

// "1 kernel", "2 kernels", "3 entries".
std::string plural(std::uint64_t count, std::string_view noun);

// The names in the order of their edit distance to `wanted`, equal ones in byte order.
std::vector<std::string> nearest_first(const std::vector<std::string>& names, std::string_view wanted);

// The names that `wanted` could be a misspelling or a part of, best first, at most three.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names);

// What a message quotes of a text from outside, at most.
inline constexpr std::size_t kQuotedBytes = 120;

// Text from outside as part of a line for people: control characters, newline, tab and the C1 controls of
// UTF-8 among them, are written as \xNN a byte, so that it can neither drive a terminal nor forge a line.
// What is longer than `limit` bytes is cut and ends in "...".
std::string printable(std::string_view text, std::size_t limit = std::string_view::npos);

// The same of text of several lines, in which newlines and tabs stay: a compiler's log.
std::string printable_lines(std::string_view text);

// Whether `printable` would leave the text as it is.
bool is_printable(std::string_view text);

}  // namespace cubinet
