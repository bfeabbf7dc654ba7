// SPDX-License-Identifier: Apache-2.0
#include "macro_tokens.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

// Punctuators of more than one character, longer ones first.
constexpr std::array<std::string_view, 33> kPunctuators = {
    "%:%:", "<=>", "...", "<<=", ">>=", "->*", "##", "::", ".*", "->", "++",
    "--",   "<<",  ">>",  "<=",  ">=",  "==",  "!=", "&&", "||", "+=", "-=",
    "*=",   "/=",  "%=",  "^=",  "&=",  "|=",  "<:", ":>", "<%", "%>", "%:"};

bool is_letter(char c) {
  return is_word_character(c) && !is_digit(c);
}

std::size_t end_of_word(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_word_character(text[end]))
    ++end;
  return end;
}

// Returns the end of a number; 0 if it is not a number in every language standard.
std::size_t end_of_number(std::string_view text) {
  std::size_t end = 1;
  for (; end < text.size() && (is_word_character(text[end]) || text[end] == '.'); ++end) {
    const bool is_signed = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-');
    if (is_signed && std::string_view("pP").find(text[end]) != std::string_view::npos) return 0;
    if (is_signed && std::string_view("eE").find(text[end]) != std::string_view::npos) ++end;
  }
  return end < text.size() && text[end] == '\'' ? 0 : end;
}

// Returns the end of a literal; 0 if it is unterminated or has a suffix.
std::size_t end_of_literal(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && text[end] != text.front())
    end += text[end] == '\\' ? std::size_t{2} : 1;
  if (end++ >= text.size()) return 0;
  return end < text.size() && is_word_character(text[end]) ? 0 : end;
}

std::size_t end_of_punctuator(std::string_view text) {
  const auto found = std::find_if(kPunctuators.begin(), kPunctuators.end(),
                                  [&](std::string_view each) { return text.starts_with(each); });
  // "<::" is "<" and "::" since C++11. The text contains no comments.
  if (text.starts_with("<::") || text.starts_with("//") || text.starts_with("/*")) return 0;
  return found == kPunctuators.end() ? 1 : found->size();
}

}  // namespace

std::optional<std::vector<MacroToken>> macro_tokens(std::string_view line) {
  using Kind = MacroToken::Kind;
  std::vector<MacroToken> tokens;
  bool spaced = false;
  while (!line.empty()) {
    const char c = line.front();
    if (is_blank(c)) {
      spaced = true;
      line.remove_prefix(1);
      continue;
    }
    if (c == '\\' || c == '\n' || c == '\0') return std::nullopt;
    Kind kind = Kind::punctuator;
    std::size_t end = 0;
    if (is_letter(c)) {
      kind = Kind::word;
      end = end_of_word(line);
      if (end < line.size() && (line[end] == '"' || line[end] == '\'')) return std::nullopt;
    } else if (is_digit(c) || (c == '.' && line.size() > 1 && is_digit(line[1]))) {
      kind = Kind::number;
      end = end_of_number(line);
    } else if (c == '"' || c == '\'') {
      kind = Kind::literal;
      end = end_of_literal(line);
    } else {
      end = end_of_punctuator(line);
    }
    if (end == 0) return std::nullopt;
    tokens.push_back({kind, std::string(line.substr(0, end)), spaced});
    spaced = false;
    line.remove_prefix(end);
  }
  return tokens;
}

std::string stringized(const std::vector<MacroToken>& tokens) {
  std::string text = "\"";
  for (const MacroToken& token : tokens) {
    if (token.spaced && text.size() > 1) text += ' ';
    for (const char c : token.text) {
      if (token.kind == MacroToken::Kind::literal && (c == '"' || c == '\\')) text += '\\';
      text += c;
    }
  }
  return text + '"';
}

}  // namespace cubinet
