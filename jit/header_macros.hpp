// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/compiler_options.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// The macros that a source and its headers define, every definition of each: from them follows what an
// `#include MACRO` or `#include MACRO(x)` may name, whichever conditions hold. Not what '#' and '##' make.
class HeaderMacros {
 public:
  // `parameters` as "(a,b)"; empty where there are none.
  void define(std::string_view name, std::string_view replacement, std::string_view parameters = {});
  // The names, with their quotes or angle brackets, that the macro may stand for, "NAME" or "NAME(x,y)"; none
  // where it is not known or could be more than 64. Ascending.
  std::vector<std::string> headers_of(std::string_view macro) const;

 private:
  // By the name, for those with parameters with "(" behind it: as another name, which no text holds as a
  // word.
  std::map<std::string, std::set<std::string>, std::less<>> definitions_;
};

// Whether a macro of this replacement can be part of a header's name.
bool may_name_a_header(std::string_view replacement);

// The macros that a request defines, as far as they can be part of a header's name.
std::vector<std::pair<std::string, std::string>> header_macros(const CompilerOptions& options);

}  // namespace cubinet
