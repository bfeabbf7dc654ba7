// SPDX-License-Identifier: Apache-2.0
#include "macro_expansion.hpp"

#include <algorithm>
#include <utility>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumDepth = 64;
constexpr std::size_t kLongestToken = 4096;
constexpr std::string_view kRest = "__VA_ARGS__";

bool is_paste(const MacroToken& token) {
  return token.is("##") || token.is("%:%:");
}

bool is_stringize(const MacroToken& token) {
  return token.is("#") || token.is("%:");
}

// Reads the parameters after the opening parenthesis. Returns false if they are no parameter list.
bool read_parameters(const std::vector<MacroToken>& tokens, std::size_t& at, MacroDefinition& macro) {
  if (at < tokens.size() && tokens[at].is(")")) return ++at, true;
  while (at < tokens.size() && !macro.variadic) {
    const bool named = tokens[at].kind == MacroToken::Kind::word;
    macro.parameters.push_back(named ? tokens[at++].text : std::string(kRest));
    macro.variadic = at < tokens.size() && tokens[at].is("...");
    if (!named && !macro.variadic) return false;
    if (macro.variadic) ++at;
    if (at >= tokens.size()) return false;
    if (tokens[at].is(")")) return ++at, true;
    if (!tokens[at++].is(",")) return false;
  }
  return false;
}

std::size_t place_of(const std::vector<std::string>& names, const MacroToken& token) {
  if (token.kind != MacroToken::Kind::word) return names.size();
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), token.text) - names.begin());
}

bool is_in_order(const MacroDefinition& macro) {
  const auto& tokens = macro.replacement;
  if (!tokens.empty() && (is_paste(tokens.front()) || is_paste(tokens.back()))) return false;
  const auto& names = macro.parameters;
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) return false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_parameter = place_of(names, tokens[i]) < names.size();
    if (!is_parameter && (tokens[i].text == kRest || tokens[i].text == "__VA_OPT__")) return false;
    if (!macro.function_like || !is_stringize(tokens[i])) continue;
    if (i + 1 == tokens.size() || place_of(names, tokens[i + 1]) == names.size()) return false;
  }
  return true;
}

template <class Names>
std::shared_ptr<const Names> with(const std::shared_ptr<const Names>& names, const std::string& name) {
  Names more = names == nullptr ? Names() : *names;
  more.insert(name);
  return std::make_shared<const Names>(std::move(more));
}

// Returns the intersection of two sets if `common` is true, otherwise their union.
template <class Names>
std::shared_ptr<const Names> combined(const std::shared_ptr<const Names>& one,
                                      const std::shared_ptr<const Names>& other, bool common) {
  if (one == other) return one;
  if (one == nullptr || other == nullptr) return common ? nullptr : one == nullptr ? other : one;
  Names names = common ? Names() : *one;
  for (const std::string& name : *other) {
    if (!common || one->contains(name)) names.insert(name);
  }
  return std::make_shared<const Names>(std::move(names));
}

}  // namespace

std::optional<MacroDefinition> MacroDefinition::read(std::string_view body) {
  const auto tokens = macro_tokens(body);
  if (!tokens) return std::nullopt;
  MacroDefinition macro;
  macro.function_like = body.starts_with('(');
  std::size_t at = macro.function_like ? 1 : 0;
  if (macro.function_like && !read_parameters(*tokens, at, macro)) return std::nullopt;
  macro.replacement.assign(tokens->begin() + static_cast<std::ptrdiff_t>(at), tokens->end());
  return is_in_order(macro) ? std::optional(std::move(macro)) : std::nullopt;
}

bool MacroExpansion::step(std::size_t size) {
  const std::size_t cost = 1 + size / 64;
  if (size > kLongestToken || steps_ < cost) unknown_ = "it takes too long to tell";
  if (!unknown_.empty()) return false;
  steps_ -= cost;
  return true;
}

std::string MacroExpansion::header_name(const std::vector<MacroToken>& operand) {
  Tokens input;
  for (auto token = operand.rbegin(); token != operand.rend(); ++token)
    input.push_back({*token, nullptr, false});
  const auto first = next(input);
  if (!first) return {};
  const std::string& head = first->token.text;
  if (head.starts_with('"')) {
    if (head.find('\\') != std::string::npos) unknown_ = "the name it makes holds a quote or a backslash";
    return unknown_.empty() && head.size() > 2 ? head : std::string();
  }
  if (first->token.kind != MacroToken::Kind::punctuator || !head.starts_with('<')) return {};
  std::string name = head;
  while (head == "<") {
    const auto token = next(input);
    if (!token) return {};
    if (token->token.is(">")) return name.size() > 1 ? name + ">" : std::string();
    if (token->token.kind == MacroToken::Kind::literal || token->token.text.find('>') != std::string::npos)
      break;
    name += (token->token.spaced ? " " : "") + token->token.text;
    if (!step(name.size())) return {};
  }
  unknown_ = "how the compiler reads the name it makes is not known";
  return {};
}

// Returns the next token that is not expanded. The input is a stack: its last element is the next
// token.
std::optional<MacroExpansion::Token> MacroExpansion::next(Tokens& input) {
  while (!input.empty() && step()) {
    Token token = std::move(input.back());
    input.pop_back();
    if (!replace(token, input)) return unknown_.empty() ? std::optional(std::move(token)) : std::nullopt;
  }
  return std::nullopt;
}

MacroExpansion::Tokens MacroExpansion::expanded(const Tokens& tokens) {
  Tokens input(tokens.rbegin(), tokens.rend());
  Tokens output;
  if (++depth_ > kMaximumDepth) unknown_ = "it is nested too deep to tell";
  while (auto token = next(input))
    output.push_back(std::move(*token));
  --depth_;
  return output;
}

// Replaces a token by its expansion. Returns false if the token is not expanded.
bool MacroExpansion::replace(const Token& token, Tokens& input) {
  if (token.token.kind != MacroToken::Kind::word) return false;
  const std::string& name = token.token.text;
  if (token.hidden != nullptr && token.hidden->contains(name)) return false;
  const bool called = !input.empty() && input.back().token.is("(");
  const MacroDefinition* macro = environment_.find(name, called, unknown_);
  if (!unknown_.empty() || macro == nullptr || (macro->function_like && !called)) return false;
  std::shared_ptr<const Names> hidden = token.hidden;
  std::vector<Tokens> given;
  if (macro->function_like) {
    std::shared_ptr<const Names> closing;
    auto arguments = take_arguments(name, *macro, input, closing);
    if (!arguments) return false;
    given = std::move(*arguments);
    const auto common = combined(token.hidden, closing, true);
    const bool differs = hidden != nullptr && (common == nullptr || common->size() < hidden->size());
    if (differs && environment_.replaces_again()) hidden = common;
  }
  hidden = with(hidden, name);
  Tokens made = substituted(*macro, given);
  // An empty expansion keeps the blank before it and removes the blank after it.
  if (!input.empty()) {
    if (made.empty()) {
      input.back().token.spaced = token.token.spaced;
    } else if (ends_spaced_) {
      input.back().token.spaced = true;
    }
  }
  if (!made.empty()) made.front().token.spaced = token.token.spaced;
  for (auto each = made.rbegin(); each != made.rend(); ++each) {
    if (!step(each->token.text.size())) return false;
    each->hidden = combined(each->hidden, hidden, false);
    input.push_back(std::move(*each));
  }
  return true;
}

std::optional<std::vector<MacroExpansion::Tokens>> MacroExpansion::take_arguments(
    const std::string& name, const MacroDefinition& macro, Tokens& input,
    std::shared_ptr<const Names>& closing) {
  std::vector<Tokens> arguments(1);
  const std::size_t wanted = macro.parameters.size();
  std::size_t open = 0;
  bool closed = false;
  while (!closed && !input.empty() && step()) {
    Token token = std::move(input.back());
    input.pop_back();
    if (token.token.is("(") && open++ == 0) continue;
    if (token.token.is(")") && --open == 0) {
      closing = token.hidden;
      closed = true;
    } else if (open == 1 && token.token.is(",") && !(macro.variadic && arguments.size() == wanted)) {
      arguments.emplace_back();
    } else {
      arguments.back().push_back(std::move(token));
    }
  }
  if (closed && macro.variadic && arguments.size() + 1 == wanted) arguments.emplace_back();
  if (wanted == 0 && arguments.size() == 1 && arguments.front().empty()) arguments.clear();
  if (unknown_.empty() && !closed) unknown_ = "a call of '" + name + "' does not end";
  if (unknown_.empty() && arguments.size() != wanted)
    unknown_ = "'" + name + "' is called with another number of arguments than it has parameters";
  if (!unknown_.empty()) return std::nullopt;
  for (Tokens& argument : arguments) {
    if (!argument.empty()) argument.front().token.spaced = false;
  }
  return arguments;
}

MacroExpansion::Tokens MacroExpansion::substituted(const MacroDefinition& macro,
                                                   const std::vector<Tokens>& arguments) {
  const auto& replacement = macro.replacement;
  std::vector<std::optional<Tokens>> known(arguments.size());
  Tokens made;
  bool spaced = false;  // by an empty expansion
  for (std::size_t i = 0; i < replacement.size() && step(); ++i) {
    const bool pastes = is_paste(replacement[i]);
    if (pastes) ++i;
    MacroToken token = replacement[i];
    const bool stringizes = macro.function_like && is_stringize(token);
    if (stringizes) ++i;
    const std::size_t place = place_of(macro.parameters, replacement[i]);
    const bool before_paste = i + 1 < replacement.size() && is_paste(replacement[i + 1]);
    Tokens operand;
    if (stringizes) {
      std::vector<MacroToken> texts;
      for (const Token& each : arguments[place])
        texts.push_back(each.token);
      operand.push_back({{MacroToken::Kind::literal, stringized(texts), false}, nullptr, false});
    } else if (place == arguments.size()) {
      operand.push_back({token, nullptr, false});
    } else if (pastes || before_paste) {
      operand = arguments[place];
      // Like compilers, removes a comma before empty variadic arguments.
      const bool rest = macro.variadic && place + 1 == arguments.size();
      if (pastes && rest && replacement[i - 2].is(",")) {
        if (operand.empty()) made.pop_back();
        for (Token& each : operand)
          made.push_back(std::move(each));
        continue;
      }
      if (operand.empty()) operand.push_back({{}, nullptr, true});
    } else {
      if (!known[place]) known[place] = expanded(arguments[place]);
      operand = *known[place];
    }
    std::size_t from = 0;
    if (pastes) {
      paste(made, operand.front());
      from = 1;
    } else if (operand.empty()) {
      spaced = spaced || token.spaced;
    } else {
      operand.front().token.spaced = std::exchange(spaced, false) || token.spaced;
    }
    for (; from < operand.size() && step(operand[from].token.text.size()); ++from)
      made.push_back(std::move(operand[from]));
  }
  ends_spaced_ = spaced;
  for (std::size_t i = 0; i + 1 < made.size(); ++i) {
    if (made[i].absent && made[i].token.spaced) made[i + 1].token.spaced = true;
  }
  std::erase_if(made, [](const Token& token) { return token.absent; });
  return made;
}

void MacroExpansion::paste(Tokens& made, const Token& right) {
  if (made.empty()) made.push_back({{}, nullptr, true});
  Token& left = made.back();
  // NVRTC forgets the origin of a token that is pasted with nothing.
  const auto may_forget = [&](Token& token) {
    if (token.hidden != nullptr && environment_.replaces_again()) token.hidden = nullptr;
  };
  if (right.absent) return may_forget(left);
  if (left.absent) {
    const bool spaced = left.token.spaced;
    left = right;
    left.token.spaced = spaced;
    return may_forget(left);
  }
  const auto tokens = macro_tokens(left.token.text + right.token.text);
  // NVRTC warns and keeps both tokens.
  if (tokens && tokens->size() == 2 && tokens->back().text == right.token.text) {
    made.push_back(right);
    made.back().token.spaced = false;
    return;
  }
  if (!tokens || tokens->size() != 1) {
    unknown_ = "'" + left.token.text + "' and '" + right.token.text + "' make no token together";
    return;
  }
  left.hidden = combined(left.hidden, right.hidden, true);
  left.token.kind = tokens->front().kind;
  left.token.text = tokens->front().text;
  may_forget(left);
}

}  // namespace cubinet
