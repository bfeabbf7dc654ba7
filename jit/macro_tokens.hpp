// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// White space of a line: NVRTC takes a carriage return for it.
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A preprocessing token, as far as the expansion of macros tells them apart.
struct MacroToken {
  enum class Kind { word, number, literal, punctuator };
  Kind kind = Kind::punctuator;
  std::string text;
  bool spaced = false;  // white space stands before it

  bool is(std::string_view punctuator) const { return kind == Kind::punctuator && text == punctuator; }
};

// The tokens of a line in which comments are blanks. nullopt where the language standard decides what they
// are, or a backslash does (of a universal character name, say): literals with a prefix or a suffix, raw
// ones, and those that do not end; apostrophes and signs in numbers.
std::optional<std::vector<MacroToken>> macro_tokens(std::string_view line);

// As '#' makes a literal of them.
std::string stringized(const std::vector<MacroToken>& tokens);

}  // namespace cubinet
