// SPDX-License-Identifier: Apache-2.0
#include "demangled_types.hpp"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <string_view>

namespace cubinet_python {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

// Returns the position of the parenthesis that opens the last group at the end of `text`.
std::size_t start_of_arguments(std::string_view text) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

ArgumentKind kind_of(std::string_view type) {
  struct Named {
    std::string_view name;
    ArgumentKind kind;
  };
  static constexpr Named kTypes[] = {{"bool", ArgumentKind::boolean},
                                     {"char", ArgumentKind::signed_integer},
                                     {"signed char", ArgumentKind::signed_integer},
                                     {"short", ArgumentKind::signed_integer},
                                     {"int", ArgumentKind::signed_integer},
                                     {"long", ArgumentKind::signed_integer},
                                     {"long long", ArgumentKind::signed_integer},
                                     {"unsigned char", ArgumentKind::unsigned_integer},
                                     {"unsigned short", ArgumentKind::unsigned_integer},
                                     {"unsigned int", ArgumentKind::unsigned_integer},
                                     {"unsigned long", ArgumentKind::unsigned_integer},
                                     {"unsigned long long", ArgumentKind::unsigned_integer},
                                     {"float", ArgumentKind::floating},
                                     {"double", ArgumentKind::floating}};
  // The demangler writes qualifiers behind: "float const*", "int* __restrict__".
  for (const std::string_view suffix : {" __restrict__", " __restrict", " const"})
    if (type.ends_with(suffix)) type.remove_suffix(suffix.size());
  // Pointers to arrays and functions: "float (*) [4]", "void (*)(int)".
  const bool is_declarator = type.ends_with(']') || type.ends_with(')');
  if (type.ends_with('*') || (is_declarator && type.find("(*)") != std::string_view::npos))
    return ArgumentKind::pointer;
  for (const Named& known : kTypes)
    if (known.name == type) return known.kind;
  return ArgumentKind::other;
}

}  // namespace

std::vector<ArgumentType> argument_types(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || demangled == nullptr) return {};
  const std::string_view text = demangled.get();
  const std::size_t open = start_of_arguments(text);
  if (open == std::string_view::npos || !text.ends_with(')')) return {};
  const std::string_view list = text.substr(open + 1, text.size() - open - 2);
  std::vector<ArgumentType> types;
  if (list.empty() || list == "void") return types;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char at = i < list.size() ? list[i] : ',';
    if (at == '<' || at == '(' || at == '[') ++depth;
    if (at == '>' || at == ')' || at == ']') --depth;
    if (at != ',' || (depth != 0 && i < list.size())) continue;
    const std::string_view type = trimmed(list.substr(begin, i - begin));
    types.push_back({kind_of(type), std::string(type)});
    begin = i + 1;
  }
  return types;
}

}  // namespace cubinet_python
