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
  using Unknown = std::unordered_set<std::string>;
  Expansion(const Definitions& definitions, const Unknown& unknown)
      : definitions_(definitions), unknown_(unknown) {}

  // Whether the texts are all that there can be.
  bool complete() const { return complete_; }

  // The macro with its arguments in the place of its parameters. They are what a header's name is made of, so
  // that expanding them first or with the rest is the same.
  Texts of_call(std::string_view name, const Texts& given) {
    const std::string key = std::string(name) + "(";
    const auto found = definitions_.find(key);
    // Without parameters it may lead to the name of another that has some.
    const bool other = definitions_.contains(name) || unknown_.contains(std::string(name));
    if (found == definitions_.end() || other || unknown_.contains(key)) complete_ = false;
    Texts texts;
    if (found == definitions_.end()) return texts;
    for (const std::string& definition : found->second) {
      const std::size_t end = definition.find(')') + 1;
      const Texts parameters = parts_of(std::string_view(definition).substr(0, end));
      if (parameters.size() != given.size()) {
        complete_ = false;
        continue;
      }
      for (std::string& text : of_text(substituted(definition.substr(end), parameters, given)))
        texts.push_back(std::move(text));
    }
    return limited(std::move(texts));
  }

  Texts of_macro(std::string_view name) {
    if (unknown_.contains(std::string(name))) complete_ = false;
    const auto found = definitions_.find(name);
    const bool within = std::find(open_.begin(), open_.end(), name) != open_.end();
    if (found != definitions_.end() && !within && open_.size() >= kMaximumDepth) complete_ = false;
    if (found == definitions_.end() || within || open_.size() >= kMaximumDepth) return {std::string(name)};
    open_.emplace_back(name);
    Texts texts;
    for (const std::string& replacement : found->second) {
      for (std::string& text : of_text(replacement))
        texts.push_back(std::move(text));
      if (texts.size() > kMaximumNames) break;
    }
    open_.pop_back();
    return limited(std::move(texts));
  }

 private:
  Texts limited(Texts texts) {
    if (texts.size() <= kMaximumNames) return texts;
    complete_ = false;
    return {};
  }

  // Every text of the one followed by every text of the other.
  Texts joined(const Texts& heads, const Texts& tails) {
    Texts texts;
    if (heads.size() * tails.size() > kMaximumNames) {
      complete_ = false;
      return texts;
    }
    for (const std::string& head : heads) {
      for (const std::string& tail : tails)
        texts.push_back(head + tail);
    }
    return texts;
  }

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
    if (text.starts_with('"')) return std::string(text);
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
  const Unknown& unknown_;
  Texts open_;
  bool complete_ = true;
};

bool is_header_name(std::string_view text) {
  if (text.size() < 3) return false;
  const char close = text.front() == '<' ? '>' : '"';
  return (text.front() == '<' || text.front() == '"') && text.find(close, 1) == text.size() - 1;
}

// "<WORD/…>": where the compiler itself defines the word, as nothing ("__THROW", "THROWBADALLOC"), an
// absolute path is left. That those are its words their looks tell.
bool may_lose_its_first_folder(std::string_view name) {
  std::size_t end = 1;
  while (end < name.size() && is_word_character(name[end]))
    ++end;
  const std::string_view word = name.substr(1, end - 1);
  if (name.front() != '<' || word.empty() || name[end] != '/') return false;
  return word.front() == '_' ||
         std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

struct Expanded {
  Texts names;
  bool complete;
};

Expanded expand(Expansion expansion, std::string_view macro) {
  const std::size_t open = macro.find('(');
  Expanded expanded{{}, false};
  if (open == std::string_view::npos) {
    expanded = {expansion.of_macro(macro), expansion.complete()};
  } else if (macro.ends_with(')')) {
    const Texts arguments = parts_of(macro.substr(open));
    const auto usable = [](const std::string& text) { return !text.empty() && may_name_a_header(text); };
    if (std::all_of(arguments.begin(), arguments.end(), usable))
      expanded = {expansion.of_call(macro.substr(0, open), arguments), expansion.complete()};
  }
  Texts& names = expanded.names;
  const std::size_t made = names.size();
  std::erase_if(names, [](const std::string& name) { return !is_header_name(name); });
  expanded.complete = expanded.complete && !names.empty() && names.size() == made &&
                      std::none_of(names.begin(), names.end(), may_lose_its_first_folder);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return expanded;
}

}  // namespace

bool may_name_a_header(std::string_view replacement) {
  if (replacement.size() > kMaximumLength) return false;
  // A call, a comment, '#' or an escape: the name is not what stands there.
  if (replacement.find_first_of("()#%*\\") != std::string_view::npos) return false;
  if (replacement.starts_with('"')) return is_header_name(replacement);
  if (replacement.starts_with("< ") || replacement.find("//") != std::string_view::npos) return false;
  if (is_header_name(replacement)) return true;
  return std::all_of(replacement.begin(), replacement.end(), [](char c) {
    return is_word_character(c) || std::string_view("<>/.-+").find(c) != std::string_view::npos;
  });
}

std::vector<std::pair<std::string, std::string>> header_macros(const CompilerOptions& options) {
  auto macros = defined_macros(options);
  for (auto& [name, value] : macros) {
    if (!may_name_a_header(value)) value = kNoHeader;
  }
  return macros;
}

void HeaderMacros::define(std::string_view name, std::string_view replacement, std::string_view parameters) {
  if (const std::size_t open = name.find('('); open != std::string_view::npos)
    return define(name.substr(0, open), replacement, name.substr(open));
  const std::string key = std::string(name) + (parameters.empty() ? "" : "(");
  const bool listed = parameters.ends_with(')') && parameters.find('.') == std::string_view::npos;
  if (!may_name_a_header(replacement) || (!parameters.empty() && !listed)) {
    unknown_.insert(key);
  } else {
    definitions_[key].insert(std::string(parameters) + std::string(replacement));
  }
}

std::vector<std::string> HeaderMacros::headers_of(std::string_view macro) const {
  return expand(Expansion(definitions_, unknown_), macro).names;
}

bool HeaderMacros::knows(std::string_view macro) const {
  return expand(Expansion(definitions_, unknown_), macro).complete;
}

}  // namespace cubinet
