// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/compiler_options.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cubinet {

// The macros that a source and its headers define, every definition of each: from them follows what an
// `#include MACRO` or `#include MACRO(x)` may name, whichever conditions hold. What '#', '##' and calls
// within a replacement make is not known, and that it is not is told.
class HeaderMacros {
 public:
  // `parameters` as "(a,b)"; empty where there are none, or where they stand behind the name: "NAME(a,b)".
  void define(std::string_view name, std::string_view replacement, std::string_view parameters = {});
  // The names, with their quotes or angle brackets, that the macro may stand for, "NAME" or "NAME(x,y)"; none
  // where it is not known or could be more than 64. Ascending.
  std::vector<std::string> headers_of(std::string_view macro) const;
  // Whether these are all that it may stand for: false as soon as one of its definitions, or of those it
  // leads to, is no header's name.
  bool knows(std::string_view macro) const;

 private:
  // By the name, for those with parameters with "(" behind it: as another name, which no text holds as a
  // word.
  std::map<std::string, std::set<std::string>, std::less<>> definitions_;
  std::unordered_set<std::string> unknown_;  // that have a definition which is not among these
};

// What stands for a replacement that cannot be part of a header's name.
inline constexpr std::string_view kNoHeader = "#";

// Whether a macro of this replacement can be part of a header's name; one without any is what it stands
// beside.
bool may_name_a_header(std::string_view replacement);

// The macros that a request defines; kNoHeader stands for what cannot be part of a header's name.
std::vector<std::pair<std::string, std::string>> header_macros(const CompilerOptions& options);

}  // namespace cubinet
