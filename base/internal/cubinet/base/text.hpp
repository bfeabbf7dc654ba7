// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Returns whether a name in C++ or JSON may contain the character: an ASCII letter, a digit or an
// underscore.
constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the text with ASCII letters in lower case.
std::string lower_case(std::string_view text);

// Returns "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

// Returns "1 kernel", "2 kernels", "3 entries".
std::string plural(std::uint64_t count, std::string_view noun);

// Returns the names in the order of their edit distance to `wanted`, equal ones in byte order.
std::vector<std::string> nearest_first(const std::vector<std::string>& names, std::string_view wanted);

// Returns at most three names that `wanted` could be a misspelling or a part of, best first.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names);

// The most bytes of external text that a message quotes.
inline constexpr std::size_t kQuotedBytes = 120;

// Returns untrusted text in a form that can be printed within one line. It cannot drive a terminal
// and cannot forge or reorder a line. Writes each byte of the following as \xNN: control characters
// (including newline, tab and C1), line separators, bidirectional controls, invisible characters,
// and bytes that are not UTF-8. A text of more than `limit` bytes is cut and ends in "...".
std::string printable(std::string_view text, std::size_t limit = std::string_view::npos);

// Returns text of several lines, such as a compiler's log, in the same form. Keeps newlines and
// tabs.
std::string printable_lines(std::string_view text);

// Returns true if printable() leaves the text as it is.
bool is_printable(std::string_view text);

// Returns JSON with the same meaning in which each character that printable() escapes is written as
// \uNNNN. Keeps the newlines between its values. Replaces each byte that is not UTF-8 with U+FFFD.
std::string printable_json(std::string_view text);

}  // namespace cubinet
