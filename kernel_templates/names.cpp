// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumNameLength = 64;
constexpr std::size_t kMaximumTypeLength = 1024;

// The lower-case keywords of C++20, and the qualifiers that NVRTC predefines.
constexpr std::array<std::string_view, 92> kReserved = {
    "alignas",     "alignof",  "and",       "and_eq",    "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",     "case",      "catch",     "char",         "char16_t",
    "char32_t",    "char8_t",  "class",     "co_await",  "co_return", "co_yield",     "compl",
    "concept",     "const",    "consteval", "constexpr", "constinit", "const_cast",   "continue",
    "decltype",    "default",  "delete",    "do",        "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",    "extern",    "false",     "float",        "for",
    "friend",      "goto",     "if",        "inline",    "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",  "not",       "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",   "protected", "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",     "signed",    "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",    "template",  "this",      "thread_local", "throw",
    "true",        "try",      "typedef",   "typeid",    "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",      "volatile",  "wchar_t",   "while",        "xor",
    "xor_eq",
};

bool is_word_of_cpp(std::string_view text) {
  return std::find(kReserved.begin(), kReserved.end(), text) != kReserved.end();
}

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_word(std::string_view text) {
  return !text.empty() && !is_decimal(text.front()) &&
         std::all_of(text.begin(), text.end(), is_word_character);
}

// Returns whether the space between these characters separates two tokens.
bool are_apart(char before, char after) {
  if (is_word_character(before) && is_word_character(after)) return true;
  return before == after && std::string_view(":&-").find(before) != std::string_view::npos;
}

// Returns whether all brackets are matched. "<" and ">" are brackets: arithmetic is not supported.
bool is_balanced(std::string_view text) {
  constexpr std::string_view kOpening = "<([", kClosing = ">)]";
  std::string open;
  for (const char c : text) {
    if (kOpening.find(c) != std::string_view::npos) open += c;
    const std::size_t closing = kClosing.find(c);
    if (closing == std::string_view::npos) continue;
    if (open.empty() || open.back() != kOpening[closing]) return false;
    open.pop_back();
  }
  return open.empty();
}

}  // namespace

bool is_choice_name(std::string_view text) {
  if (text.empty() || text.size() > kMaximumNameLength || text[0] == '_') return false;
  const bool letters =
      std::all_of(text.begin(), text.end(), [](char c) { return is_word_character(c) && !is_upper(c); });
  return letters && !is_word_of_cpp(text);
}

bool is_identifier(std::string_view text) {
  return is_choice_name(text) && !is_decimal(text.front());
}

std::string enumerator_of(std::string_view choice_name) {
  return (is_decimal(choice_name.front()) ? "_" : "") + std::string(choice_name);
}

bool is_macro_name(std::string_view text) {
  if (!is_word(text) || text.size() > kMaximumNameLength || is_word_of_cpp(text)) return false;
  if (text.find("__") != std::string_view::npos) return false;
  if (text[0] == '_' && text.size() > 1 && is_upper(text[1])) return false;
  return text != "defined" && text != "cubinet";
}

bool is_qualified_name(std::string_view text) {
  if (text.size() > kMaximumTypeLength) return false;
  for (std::size_t end = text.find("::"); end != std::string_view::npos; end = text.find("::")) {
    if (!is_word(text.substr(0, end))) return false;
    text.remove_prefix(end + 2);
  }
  return is_word(text);
}

std::optional<std::string> canonical_type(std::string_view text) {
  if (text.size() > kMaximumTypeLength) return std::nullopt;
  std::string type;
  bool spaced = false;
  for (const char c : text) {
    if (c == ' ') {
      spaced = true;
      continue;
    }
    if (!is_word_character(c) && std::string_view("<>()[]:,*&-").find(c) == std::string_view::npos)
      return std::nullopt;
    if (spaced && !type.empty() && are_apart(type.back(), c)) type += ' ';
    spaced = false;
    type += c;
  }
  const bool begins =
      !type.empty() && (type.front() == ':' || (is_word_character(type[0]) && !is_decimal(type[0])));
  if (!begins || !is_balanced(type)) return std::nullopt;
  return type;
}

}  // namespace cubinet
