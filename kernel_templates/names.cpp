// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumNameLength = 64;
constexpr std::size_t kMaximumPrintedLength = 120;

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

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > kMaximumNameLength || text[0] < 'a' || text[0] > 'z') return false;
  const bool letters = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  return letters && std::find(kReserved.begin(), kReserved.end(), text) == kReserved.end();
}

std::vector<std::string> nearest_first(std::vector<std::string> names, std::string_view wanted) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (std::string& name : names) {
    const std::size_t distance = edit_distance(wanted.substr(0, kMaximumNameLength), name);
    ranked.emplace_back(distance, std::move(name));
  }
  std::sort(ranked.begin(), ranked.end());
  names.clear();
  for (auto& [distance, name] : ranked)
    names.push_back(std::move(name));
  return names;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::string printable(std::string_view text) {
  std::string out(text.substr(0, kMaximumPrintedLength));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  if (text.size() > kMaximumPrintedLength) out += "...";
  return out;
}

}  // namespace cubinet
