// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// Returns whether the character is white space within a line. NVRTC includes the carriage return.
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A preprocessing token, as far as macro expansion distinguishes them.
struct MacroToken {
  enum class Kind { word, number, literal, punctuator };
  Kind kind = Kind::punctuator;
  std::string text;
  bool spaced = false;  // white space precedes it

  bool is(std::string_view punctuator) const { return kind == Kind::punctuator && text == punctuator; }
};

// Returns the tokens of a line in which comments are blanks. Returns nullopt if they depend on the
// language standard or on a backslash (such as a universal character name): literals with a prefix
// or a suffix, raw and unterminated literals, apostrophes and signs in numbers.
std::optional<std::vector<MacroToken>> macro_tokens(std::string_view line);

// Returns the literal that '#' makes of the tokens.
std::string stringized(const std::vector<MacroToken>& tokens);

}  // namespace cubinet
