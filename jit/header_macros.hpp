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

// The headers that the operand of an `#include` or a `__has_include` may name.
struct MacroHeaders {
  std::vector<std::string> names;  // with their quotes or angle brackets, ascending
  std::string unknown;             // why there may be others; empty: there are none
};

// All definitions of the macros in a source and its headers, from which follow the headers that
// `#include MACRO(x)` may name under any conditions. At any point a macro has one of its
// definitions or is undefined. The compiler's own macros are unknown.
class HeaderMacros {
 public:
  // All operands together take at most `steps` steps. The result of a longer expansion is unknown.
  explicit HeaderMacros(std::size_t steps = 2'000'000) : steps_left_(steps) {}

  // Adds a definition. `body` is the rest of the line after the name: "(a,b) a##b", " <lib/a.h>".
  void define(std::string_view name, std::string_view body);
  // Returns the headers for the text after `#include`, or after the opening parenthesis of
  // `__has_include`. Operands that expand to no header name are errors for the compiler and are
  // left out.
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

// Returns the macros that a request defines: names, and bodies as in HeaderMacros::define().
std::vector<std::pair<std::string, std::string>> header_macros(const CompilerOptions& options);

}  // namespace cubinet
