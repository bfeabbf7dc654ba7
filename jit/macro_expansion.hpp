// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "macro_tokens.hpp"

#include <memory>
#include <set>

namespace cubinet {

// One definition of a macro.
struct MacroDefinition {
  bool function_like = false;
  std::vector<std::string> parameters;
  bool variadic = false;  // the last parameter takes what is left
  std::vector<MacroToken> replacement;

  // `body` is what follows the name on its line: "(a, b) a##b", " text". nullopt where nobody knows for sure
  // what it does: tokens that are not known (macro_tokens.hpp), '#' or '##' in a wrong place, __VA_OPT__.
  static std::optional<MacroDefinition> read(std::string_view body);
};

// What the names stand for where a text is expanded.
class MacroEnvironment {
 public:
  virtual ~MacroEnvironment() = default;
  // nullptr for a name that is none of a macro; `unknown` is set to a reason where that cannot be told.
  // `called`: a parenthesis follows it.
  virtual const MacroDefinition* find(const std::string& name, bool called, std::string& unknown) = 0;
  // Where a call reaches beyond the replacement that its name came of, and where tokens are put together,
  // whether that macro is replaced in it once more is left open: by the standard, and by compilers.
  virtual bool replaces_again() = 0;
};

// Expands macros as the preprocessor does: C++ [cpp.subst], [cpp.stringize], [cpp.concat], [cpp.rescan].
class MacroExpansion {
 public:
  // `steps`, of one token each, are taken from what is left of them.
  MacroExpansion(MacroEnvironment& environment, std::size_t& steps)
      : environment_(environment), steps_(steps) {}

  // The header's name that an #include of these tokens asks for, with its quotes or angle brackets. Empty
  // where there is none, an error to the compiler, and where it is not known.
  std::string header_name(const std::vector<MacroToken>& operand);
  // Why it is not known; empty where it is.
  const std::string& unknown() const { return unknown_; }

 private:
  using Names = std::set<std::string>;
  struct Token {
    MacroToken token;
    std::shared_ptr<const Names> hidden;  // the macros of which it came; nullptr: none
    bool absent = false;                  // stands for an argument without tokens beside a '##'
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
  bool ends_spaced_ = false;  // a blank stands behind what substituted() has made last
  std::string unknown_;
};

}  // namespace cubinet
