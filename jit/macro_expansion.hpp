// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "macro_tokens.hpp"

#include <memory>
#include <set>

namespace cubinet {

// A definition of a macro.
struct MacroDefinition {
  bool function_like = false;
  std::vector<std::string> parameters;
  bool variadic = false;  // the last parameter takes all remaining arguments
  std::vector<MacroToken> replacement;

  // Parses the rest of the line after the name: "(a, b) a##b", " text". Returns nullopt if its
  // effect is not certain: unknown tokens (macro_tokens.hpp), a misplaced '#' or '##', or
  // __VA_OPT__.
  static std::optional<MacroDefinition> read(std::string_view body);
};

// The definitions of macros at the place of an expansion.
class MacroEnvironment {
 public:
  virtual ~MacroEnvironment() = default;
  // Returns nullptr if the name is no macro. Sets `unknown` to a reason if this is not known.
  // `called` is true if a parenthesis follows the name.
  virtual const MacroDefinition* find(const std::string& name, bool called, std::string& unknown) = 0;
  // Returns whether a macro is expanded again if a call extends beyond the replacement that
  // contains its name, or if tokens are pasted. The standard and compilers leave this open.
  virtual bool replaces_again() = 0;
};

// An expansion of macros as in the preprocessor: C++ [cpp.subst], [cpp.stringize], [cpp.concat],
// [cpp.rescan].
class MacroExpansion {
 public:
  // Each expanded token decrements `steps`.
  MacroExpansion(MacroEnvironment& environment, std::size_t& steps)
      : environment_(environment), steps_(steps) {}

  // Returns the header's name for an #include of these tokens, with its quotes or angle brackets.
  // Empty if the name is unknown, or if there is none, which is an error for the compiler.
  std::string header_name(const std::vector<MacroToken>& operand);
  // Returns the reason if the name is unknown; otherwise empty.
  const std::string& unknown() const { return unknown_; }

 private:
  using Names = std::set<std::string>;
  struct Token {
    MacroToken token;
    std::shared_ptr<const Names> hidden;  // the macros that produced it; nullptr: none
    bool absent = false;                  // an empty argument beside '##'
  };
  using Tokens = std::vector<Token>;

  bool step(std::size_t size = 0);
  std::optional<Token> next(Tokens& input);
  bool replace(const Token& token, Tokens& input);
  std::optional<std::vector<Tokens>> take_arguments(const std::string& name, const MacroDefinition& macro,
                                                    Tokens& input, std::shared_ptr<const Names>& closing);
  Tokens substituted(const MacroDefinition& macro, const std::vector<Tokens>& arguments);
  Tokens expanded(const Tokens& tokens);
  void paste(Tokens& made, const Token& right);

  MacroEnvironment& environment_;
  std::size_t& steps_;
  std::size_t depth_ = 0;
  bool ends_spaced_ = false;  // a blank follows the last result of substituted()
  std::string unknown_;
};

}  // namespace cubinet
