// SPDX-License-Identifier: Apache-2.0
#include "header_macros.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::size_t kMaximumNames = 64;
constexpr std::size_t kMaximumLength = 512;
constexpr int kMaximumDepth = 16;

using Texts = std::vector<std::string>;

// Every text of the one followed by every text of the other.
Texts joined(const Texts& heads, const Texts& tails) {
  Texts texts;
  if (heads.size() * tails.size() > kMaximumNames) return texts;
  for (const std::string& head : heads) {
    for (const std::string& tail : tails)
      texts.push_back(head + tail);
  }
  return texts;
}

// "(a,b)" is a and b.
Texts parts_of(std::string_view in_parentheses) {
  Texts parts(1);
  for (const char c : in_parentheses.substr(1, in_parentheses.size() - 2)) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

class Expansion {
 public:
  using Definitions = std::map<std::string, std::set<std::string>, std::less<>>;
  explicit Expansion(const Definitions& definitions) : definitions_(definitions) {}

  // The macro with its arguments in the place of its parameters. They are what a header's name is made of, so
  // that expanding them first or with the rest is the same.
  Texts of_call(std::string_view name, const Texts& given) {
    const auto found = definitions_.find(std::string(name) + "(");
    Texts texts;
    if (found == definitions_.end()) return texts;
    for (const std::string& definition : found->second) {
      const std::size_t end = definition.find(')') + 1;
      const Texts parameters = parts_of(std::string_view(definition).substr(0, end));
      if (parameters.size() != given.size()) continue;
      for (std::string& text : of_text(substituted(definition.substr(end), parameters, given)))
        texts.push_back(std::move(text));
    }
    return texts.size() > kMaximumNames ? Texts() : texts;
  }

  Texts of_macro(std::string_view name) {
    const auto found = definitions_.find(name);
    const bool within = std::find(open_.begin(), open_.end(), name) != open_.end();
    if (found == definitions_.end() || within || open_.size() >= kMaximumDepth) return {std::string(name)};
    open_.emplace_back(name);
    Texts texts;
    for (const std::string& replacement : found->second) {
      for (std::string& text : of_text(replacement))
        texts.push_back(std::move(text));
      if (texts.size() > kMaximumNames) break;
    }
    open_.pop_back();
    return texts.size() > kMaximumNames ? Texts() : texts;
  }

 private:
  Texts of_text(std::string_view text) {
    // In quotes nothing is replaced.
    if (text.starts_with('"')) return {std::string(text)};
    Texts texts = {""};
    while (!text.empty() && !texts.empty()) {
      const bool word = is_word_character(text.front());
      std::size_t end = 1;
      while (word && end < text.size() && is_word_character(text[end]))
        ++end;
      texts = joined(texts, word ? of_macro(text.substr(0, end)) : Texts{std::string(text.substr(0, end))});
      text.remove_prefix(end);
    }
    return texts;
  }

  static std::string substituted(std::string_view text, const Texts& parameters, const Texts& arguments) {
    std::string made;
    while (!text.empty()) {
      std::size_t end = 1;
      while (is_word_character(text.front()) && end < text.size() && is_word_character(text[end]))
        ++end;
      const auto at = std::find(parameters.begin(), parameters.end(), text.substr(0, end));
      made += at == parameters.end() ? std::string(text.substr(0, end))
                                     : arguments[static_cast<std::size_t>(at - parameters.begin())];
      text.remove_prefix(end);
    }
    return made;
  }

  const Definitions& definitions_;
  Texts open_;
};

bool is_header_name(std::string_view text) {
  if (text.size() < 3) return false;
  const char close = text.front() == '<' ? '>' : '"';
  return (text.front() == '<' || text.front() == '"') && text.find(close, 1) == text.size() - 1;
}

}  // namespace

bool may_name_a_header(std::string_view replacement) {
  if (replacement.empty() || replacement.size() > kMaximumLength) return false;
  if (is_header_name(replacement)) return true;
  return std::all_of(replacement.begin(), replacement.end(), [](char c) {
    return is_word_character(c) || std::string_view("<>/.-+").find(c) != std::string_view::npos;
  });
}

std::vector<std::pair<std::string, std::string>> header_macros(const CompilerOptions& options) {
  auto macros = defined_macros(options);
  std::erase_if(macros, [](const auto& macro) { return !may_name_a_header(macro.second); });
  return macros;
}

void HeaderMacros::define(std::string_view name, std::string_view replacement, std::string_view parameters) {
  if (parameters.empty()) {
    definitions_[std::string(name)].emplace(replacement);
  } else if (parameters.ends_with(')') && parameters.find('.') == std::string_view::npos) {
    definitions_[std::string(name) + "("].insert(std::string(parameters) + std::string(replacement));
  }
}

std::vector<std::string> HeaderMacros::headers_of(std::string_view macro) const {
  const std::size_t open = macro.find('(');
  Texts names;
  if (open == std::string_view::npos) {
    names = Expansion(definitions_).of_macro(macro);
  } else if (macro.ends_with(')')) {
    const Texts arguments = parts_of(macro.substr(open));
    if (std::all_of(arguments.begin(), arguments.end(), may_name_a_header))
      names = Expansion(definitions_).of_call(macro.substr(0, open), arguments);
  }
  std::erase_if(names, [](const std::string& name) { return !is_header_name(name); });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace cubinet
