// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <algorithm>
#include <array>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumNameLength = 64;

// The words of C++20 that a lower-case name could be, and the qualifiers NVRTC predefines.
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

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > kMaximumNameLength || text[0] < 'a' || text[0] > 'z') return false;
  const bool letters = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  return letters && std::find(kReserved.begin(), kReserved.end(), text) == kReserved.end();
}

}  // namespace cubinet
