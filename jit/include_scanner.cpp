// SPDX-License-Identifier: Apache-2.0
#include "include_scanner.hpp"

#include <algorithm>

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

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  IncludeScan run() {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] == '#') directive(at + 1);
      if (text_.substr(at).starts_with("%:")) directive(at + 2);  // the digraph of '#'
      if (text_.substr(at).starts_with("__has_include")) question(at);
    }
    return std::move(scan_);
  }

 private:
  void directive(std::size_t at) {
    at = skip_space_and_comments(text_, at);
    const std::string_view word = word_at(text_, at);
    if (word != "include" && word != "include_next" && word != "import") return;
    at = skip_space_and_comments(text_, at + word.size());
    if (name(at)) return;
    const std::string_view macro = word_at(text_, at);
    if (!macro.empty()) scan_.computed.emplace_back(macro);
  }

  void question(std::size_t at) {
    at = skip_space_and_comments(text_, at + word_at(text_, at).size());
    if (at < text_.size() && text_[at] == '(') name(skip_space_and_comments(text_, at + 1));
  }

  bool name(std::size_t at) {
    if (at >= text_.size() || (text_[at] != '<' && text_[at] != '"')) return false;
    const std::size_t end = text_.find(text_[at] == '<' ? '>' : '"', at + 1);
    if (end == std::string_view::npos) return false;
    const std::string_view found = text_.substr(at + 1, end - at - 1);
    if (found.empty() || found.find('\n') != std::string_view::npos) return false;
    IncludeDirective directive{std::string(found), text_[at] == '"'};
    if (std::find(scan_.directives.begin(), scan_.directives.end(), directive) == scan_.directives.end()) {
      scan_.directives.push_back(std::move(directive));
    }
    return true;
  }

  std::string_view text_;
  IncludeScan scan_;
};

}  // namespace

IncludeScan scan_includes(std::string_view text) {
  const std::string joined = join_continued_lines(text);
  return Scanner(joined).run();
}

}  // namespace cubinet
