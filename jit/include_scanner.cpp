// SPDX-License-Identifier: Apache-2.0
#include "include_scanner.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cubinet {
namespace {

// Joins lines that a backslash continues, so that a directive broken over two lines is seen.
std::string join_continued_lines(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      const std::size_t end = text.find_first_not_of(" \t\r", i + 1);
      if (end != std::string_view::npos && text[end] == '\n') {
        i = end;
        continue;
      }
    }
    joined.push_back(text[i]);
  }
  return joined;
}

std::size_t skip_space_and_comments(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (text[at] == ' ' || text[at] == '\t' || text[at] == '\v' || text[at] == '\f') {
      ++at;
    } else if (text.substr(at).starts_with("/*")) {
      const std::size_t end = text.find("*/", at + 2);
      if (end == std::string_view::npos) return text.size();
      at = end + 2;
    } else {
      break;
    }
  }
  return at;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view word_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word(text[end]))
    ++end;
  return text.substr(at, end - at);
}

bool includes(std::string_view directive) {
  return directive == "include" || directive == "include_next" || directive == "import";
}

bool begins_name(std::string_view text, std::size_t at) {
  return at < text.size() && (text[at] == '<' || text[at] == '"');
}

bool asks_for_header(std::string_view word) {
  return word == "__has_include" || word == "__has_include_next";
}

// Every name, wherever it stands.
class NameFinder {
 public:
  explicit NameFinder(std::string_view text) : text_(text) {}

  std::vector<IncludeDirective> run() {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] == '#') directive(at + 1);
      if (text_.substr(at).starts_with("%:")) directive(at + 2);  // the digraph of '#'
      if (text_.substr(at).starts_with("__has_include")) question(at);
    }
    return std::move(names_);
  }

 private:
  void directive(std::size_t at) {
    at = skip_space_and_comments(text_, at);
    const std::string_view word = word_at(text_, at);
    if (!includes(word)) return;
    name(skip_space_and_comments(text_, at + word.size()));
  }

  void question(std::size_t at) {
    at = skip_space_and_comments(text_, at + word_at(text_, at).size());
    if (at < text_.size() && text_[at] == '(') name(skip_space_and_comments(text_, at + 1));
  }

  void name(std::size_t at) {
    if (!begins_name(text_, at)) return;
    const std::size_t end = text_.find(text_[at] == '<' ? '>' : '"', at + 1);
    if (end == std::string_view::npos) return;
    const std::string_view found = text_.substr(at + 1, end - at - 1);
    if (found.empty() || found.find('\n') != std::string_view::npos) return;
    IncludeDirective directive{std::string(found), text_[at] == '"'};
    if (std::find(names_.begin(), names_.end(), directive) == names_.end()) {
      names_.push_back(std::move(directive));
    }
  }

  std::string_view text_;
  std::vector<IncludeDirective> names_;
};

// What is computed, in code alone: reads as the preprocessor does, a comment as space, a literal as a whole.
class ComputedFinder {
 public:
  explicit ComputedFinder(std::string_view text) : text_(text) {}

  std::vector<std::string> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        begins_line_ = true;
        only_named_ = false;
        ++at_;
      } else if (const std::size_t after = skip_space_and_comments(text_, at_); after != at_) {
        at_ = after;
      } else if (text_.substr(at_).starts_with("//")) {
        skip_to_end_of_line();
      } else if (begins_line_ && (c == '#' || text_.substr(at_).starts_with("%:"))) {
        directive(at_ + (c == '#' ? 1 : 2));
      } else {
        token(c);
      }
    }
    return std::move(computed_);
  }

 private:
  void token(char c) {
    begins_line_ = false;
    if (c == '"' || c == '\'') return literal(c);
    if (c >= '0' && c <= '9') return number();
    if (is_word(c)) return word();
    // `defined(NAME)` only asks whether there is one, as `defined NAME` does.
    only_named_ = only_named_ && c == '(';
    ++at_;
  }

  void directive(std::size_t at) {
    begins_line_ = false;
    at = skip_space_and_comments(text_, at);
    const std::string_view word = word_at(text_, at);
    only_named_ = word == "ifdef" || word == "ifndef" || word == "elifdef" || word == "elifndef" ||
                  word == "define" || word == "undef";
    at_ = at + word.size();
    if (!includes(word)) return;
    at_ = skip_space_and_comments(text_, at_);
    if (begins_name(text_, at_)) return header_name();
    const std::string_view macro = word_at(text_, at_);
    if (!macro.empty()) computed_.push_back("#" + std::string(word) + " " + std::string(macro));
  }

  void word() {
    const std::string_view word = word_at(text_, at_);
    at_ += word.size();
    const bool only_named = std::exchange(only_named_, word == "defined");
    if (begins_raw_literal(word)) return raw_literal();
    if (!asks_for_header(word) || only_named) return;
    std::string text(word);
    std::size_t at = skip_space_and_comments(text_, at_);
    if (at < text_.size() && text_[at] == '(') {
      at = skip_space_and_comments(text_, at + 1);
      if (begins_name(text_, at)) {
        at_ = at;
        return header_name();
      }
      text += "(" + std::string(word_at(text_, at)) + ")";
    }
    computed_.push_back(std::move(text));
  }

  // In a header's name quotes, backslashes and the signs of comments mean nothing.
  void header_name() {
    const char end = text_[at_] == '<' ? '>' : '"';
    do {
      ++at_;
    } while (at_ < text_.size() && text_[at_] != end && text_[at_] != '\n');
    if (at_ < text_.size() && text_[at_] == end) ++at_;
  }

  // A literal ends with its line at the latest: in a group that is left out an apostrophe may stand alone.
  void literal(char quote) {
    only_named_ = false;
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        ++at_;
      } else if (text_[at_] == quote) {
        ++at_;
        return;
      }
    }
  }

  bool begins_raw_literal(std::string_view prefix) const {
    constexpr std::array<std::string_view, 5> kPrefixes = {"R", "LR", "uR", "UR", "u8R"};
    if (std::find(kPrefixes.begin(), kPrefixes.end(), prefix) == kPrefixes.end()) return false;
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    const std::size_t open = text_.find_first_of("()\\\" \t\n", at_ + 1);
    return open != std::string_view::npos && text_[open] == '(';
  }

  void raw_literal() {
    const std::size_t open = text_.find('(', at_);
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t close = text_.find(end, open);
    at_ = close == std::string_view::npos ? text_.size() : close + end.size();
  }

  // 1'000: the apostrophe begins no literal.
  void number() {
    only_named_ = false;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' || text_[at_] == '\''))
      ++at_;
  }

  void skip_to_end_of_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  std::string_view text_;
  std::size_t at_ = 0;
  bool begins_line_ = true;
  bool only_named_ = false;  // the next word is named, not used
  std::vector<std::string> computed_;
};

}  // namespace

IncludeScan scan_includes(std::string_view text) {
  const std::string joined = join_continued_lines(text);
  return {NameFinder(joined).run(), ComputedFinder(joined).run()};
}

}  // namespace cubinet
