// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "macro_expansion.hpp"

#include <cubinet/spec/compiler_options.hpp>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cubinet {

// What the operand of an `#include` or a `__has_include` may name.
struct MacroHeaders {
  std::vector<std::string> names;  // with their quotes or angle brackets, ascending
  std::string unknown;             // why there may be others; empty: there are none
};

// The macros that a source and its headers define, every definition of each: from them follows what an
// `#include MACRO(x)` may name, whichever conditions hold. At any place a macro is what one of its
// definitions says, or is not defined there; what the compiler defines itself is not known.
class HeaderMacros {
 public:
  // All operands together take at most so many steps; what would take more is not known.
  explicit HeaderMacros(std::size_t steps = 2'000'000) : steps_left_(steps) {}

  // `body` is what follows the name on its line: "(a,b) a##b", " <lib/a.h>".
  void define(std::string_view name, std::string_view body);
  // Of what stands behind `#include`, or in the parentheses of `__has_include` and behind: what makes no
  // header's name is an error to the compiler, and not among them.
  const MacroHeaders& headers_of(const std::string& operand);

 private:
  class Environment;
  struct Definitions {
    std::vector<std::string> bodies;
    std::vector<std::optional<MacroDefinition>> read;  // at the first use; nullopt: what it does is not known
    bool too_many = false;
  };

  MacroHeaders found(const std::string& operand);

  std::unordered_map<std::string, Definitions> definitions_;
  std::map<std::string, MacroHeaders> found_;  // of operands, as long as no macro is defined
  std::size_t steps_left_;
};

// The macros that a request defines: the names, and their bodies as HeaderMacros has them.
std::vector<std::pair<std::string, std::string>> header_macros(const CompilerOptions& options);

}  // namespace cubinet
