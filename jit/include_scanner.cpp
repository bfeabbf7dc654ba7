// SPDX-License-Identifier: Apache-2.0
#include "include_scanner.hpp"

#include "macro_tokens.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

namespace cubinet {
namespace {

constexpr std::array<std::string_view, 5> kRawPrefixes = {"R", "LR", "uR", "UR", "u8R"};
constexpr std::size_t kLongestDelimiter = 16;  // of a raw literal
// Longer lines are recognised but not read, because parenthesised operands may be nested.
constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kLongestInParentheses = 256;

bool asks_for_header(std::string_view word) {
  return word == "__has_include" || word == "__has_include_next";
}

// A cursor over a text in which a backslash at the end of a line joins lines.
class Cursor {
 public:
  Cursor(std::string_view text, bool trigraphs) : text_(text), trigraphs_(trigraphs) { skip_splices(); }

  bool done() const { return at_ >= text_.size(); }
  std::size_t at() const { return at_; }
  char peek() const {
    if (done()) return '\0';
    const char replaced = trigraph();
    return replaced != '\0' ? replaced : text_[at_];
  }
  void step() {
    at_ += trigraph() != '\0' ? kTrigraphBytes : 1;
    skip_splices();
  }
  void jump(std::size_t at) {
    at_ = std::min(at, text_.size());
    skip_splices();
  }
  // Headers consist largely of comments. These three functions are faster than step().
  void go_to_line_end() {
    for (std::size_t end = text_.find('\n', at_);; end = text_.find('\n', end + 1)) {
      const std::size_t last =
          end != std::string_view::npos && end > at_ && text_[end - 1] == '\r' ? end - 1 : end;
      if (end != std::string_view::npos && last > at_ && is_backslash_before(last)) continue;
      at_ = std::min(end, text_.size());
      return;
    }
  }
  void go_to(char c) { at_ = std::min(text_.find(c, at_), text_.size()); }
  // Takes the word characters here, up to a joint of lines. NVRTC accepts neither dollar signs nor
  // non-ASCII letters.
  std::string_view take_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word_character(text_[at_]))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    skip_splices();
    return word;
  }
  // Returns whether the next two characters are `first` and `second`.
  bool is_at(char first, char second) const {
    if (peek() != first) return false;
    Cursor ahead = *this;
    ahead.step();
    return ahead.peek() == second;
  }

 private:
  // Returns the character of the trigraph here; NUL if there is none.
  char trigraph() const {
    if (!trigraphs_ || at_ + kTrigraphBytes > text_.size() || text_[at_] != '?' || text_[at_ + 1] != '?')
      return '\0';
    constexpr std::string_view kThird = "=/'()!<>-";
    constexpr std::string_view kReplaced = "#\\^[]|{}~";
    const std::size_t which = kThird.find(text_[at_ + 2]);
    return which == std::string_view::npos ? '\0' : kReplaced[which];
  }

  bool is_backslash_before(std::size_t end) const {
    if (text_[end - 1] == '\\') return true;
    return trigraphs_ && end >= at_ + kTrigraphBytes &&
           text_.substr(end - kTrigraphBytes, kTrigraphBytes) == "?\?/";
  }

  void skip_splices() {
    while (at_ < text_.size() && peek() == '\\') {
      std::size_t line_end = at_ + (text_[at_] == '\\' ? 1 : kTrigraphBytes);
      if (line_end < text_.size() && text_[line_end] == '\r') ++line_end;
      if (line_end >= text_.size() || text_[line_end] != '\n') return;
      at_ = line_end + 1;
    }
  }

  static constexpr std::size_t kTrigraphBytes = 3;

  std::string_view text_;
  bool trigraphs_;
  std::size_t at_ = 0;
};

// The effect of a condition on its own group and on the groups of its #else and #elif.
struct HostGroup {
  bool skipped = false;  // NVRTC does not compile it
  bool others_skipped = false;
};

bool is_defined_by_nvrtc(std::string_view macro) {
  return macro == "__CUDACC__" || macro == "__CUDACC_RTC__";
}

// Returns the X of "defined(X)" and "definedX", a text without blanks; empty for any other text.
std::string_view macro_asked_for(std::string_view text) {
  constexpr std::string_view kDefined = "defined";
  if (!text.starts_with(kDefined)) return {};
  text.remove_prefix(kDefined.size());
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  return text;
}

// Reads a condition of #if. Recognises a conjunction with !defined(__CUDACC_RTC__), and a bare
// defined(__CUDACC_RTC__). Returns no group for any other condition.
HostGroup host_group_of(std::string condition) {
  std::erase_if(condition, [](char c) { return is_blank(c); });
  if (condition.find("||") != std::string::npos || condition.find('?') != std::string::npos) return {};
  if (condition == "__CUDACC_RTC__" || is_defined_by_nvrtc(macro_asked_for(condition))) return {false, true};
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= condition.size(); ++at) {
    const bool ends = at == condition.size() || (depth == 0 && condition.compare(at, 2, "&&") == 0);
    if (ends) {
      const std::string_view operand = std::string_view(condition).substr(begin, at - begin);
      if (operand.starts_with('!') && is_defined_by_nvrtc(macro_asked_for(operand.substr(1))))
        return {true, false};
      begin = at + 2;
      ++at;
      continue;
    }
    if (condition[at] == '(') ++depth;
    if (condition[at] == ')') --depth;
  }
  return {};
}

class Scanner {
 public:
  Scanner(std::string_view text, const SourceDialect& dialect)
      : text_(text),
        dialect_(dialect),
        cursor_(text, dialect.trigraphs),
        has_host_groups_(text.find("__CUDACC") != std::string_view::npos) {}

  IncludeScan run() {
    while (!cursor_.done())
      token();
    return std::move(scan_);
  }

 private:
  enum class Defining { nothing, without_parameters, with_parameters };

  void token() {
    const char c = cursor_.peek();
    if (c == '\n') {
      begins_line_ = true;
      only_named_ = false;
      defining_ = Defining::nothing;
      cursor_.step();
    } else if (!skip_blank_or_comment()) {
      const bool directive_begins = begins_line_ && (c == '#' || cursor_.is_at('%', ':'));
      begins_line_ = false;
      if (directive_begins) return directive();
      if (c == '"' || c == '\'') return literal(c);
      if (is_digit(c)) return number();
      if (is_word_character(c)) return word();
      // `defined(NAME)` only asks whether there is one, as `defined NAME` does.
      only_named_ = only_named_ && c == '(';
      cursor_.step();
    }
  }

  // Returns whether it skipped a blank or a comment. An unterminated comment takes the rest.
  bool skip_blank_or_comment() {
    if (is_blank(cursor_.peek())) {
      cursor_.step();
    } else if (cursor_.is_at('/', '/')) {
      cursor_.go_to_line_end();
    } else if (cursor_.is_at('/', '*')) {
      cursor_.step();
      cursor_.step();
      for (cursor_.go_to('*'); !cursor_.done() && !cursor_.is_at('*', '/'); cursor_.go_to('*'))
        cursor_.step();
      cursor_.step();
      cursor_.step();
    } else {
      return false;
    }
    return true;
  }
  void skip_blanks_and_comments() {
    while (!cursor_.done() && cursor_.peek() != '\n' && skip_blank_or_comment()) {
    }
  }

  std::string read_word() {
    std::string word;
    while (is_word_character(cursor_.peek()))
      word += cursor_.take_word();
    return word;
  }

  void directive() {
    if (cursor_.peek() == '%') cursor_.step();
    cursor_.step();
    skip_blanks_and_comments();
    const std::size_t begin = cursor_.at();
    const std::string word = read_word();
    only_named_ = word == "ifdef" || word == "ifndef" || word == "elifdef" || word == "elifndef" ||
                  word == "define" || word == "undef";
    if (word == "define") return definition();
    if (has_host_groups_) condition(word);
    if (word != "include" && word != "include_next") return;
    const TextRange where{begin, cursor_.at()};
    skip_blanks_and_comments();
    if (header_name(where, word == "include_next", false)) return;
    const Cursor begin_of_operand = cursor_;
    ComputedHeader computed{{}, read_line(kLongestLine)};
    cursor_ = begin_of_operand;
    if (computed.operand.empty()) return;
    computed.text = "#" + word + " " + computed.operand;
    if (word == "include_next")
      computed.unknown = "where its search goes on depends on the folder of this file";
    scan_.computed.push_back(std::move(computed));
  }

  // Updates groups_ at a conditional directive, without consuming its operand.
  void condition(std::string_view word) {
    const auto read = [&](std::string_view prefix) {
      const Cursor begin = cursor_;
      skip_blanks_and_comments();
      const HostGroup group = host_group_of(std::string(prefix) + read_line(kLongestLine));
      cursor_ = begin;
      return group;
    };
    const auto group = [&](std::string_view name) -> HostGroup {
      if (name == "if") return read("");
      return name == "ifdef" ? read("defined ") : read("!defined ");
    };
    if (word == "if" || word == "ifdef" || word == "ifndef") {
      groups_.push_back(group(word));
    } else if (groups_.empty()) {
      return;
    } else if (word == "endif") {
      groups_.pop_back();
    } else if (word == "else") {
      groups_.back().skipped = groups_.back().others_skipped;
    } else if (word == "elif" || word == "elifdef" || word == "elifndef") {
      const HostGroup own = group(word.substr(2));
      HostGroup& now = groups_.back();
      now = {now.others_skipped || own.skipped, now.others_skipped || own.others_skipped};
    }
  }

  bool is_host_only() const {
    return std::any_of(groups_.begin(), groups_.end(), [](const HostGroup& group) { return group.skipped; });
  }

  // Returns the rest of the line, or the text up to the closing ')', with blanks for comments. A
  // text that is too long ends with a backslash, which makes it unknown.
  std::string read_line(std::size_t longest, bool in_parentheses = false) {
    std::string text;
    std::size_t open = 1;
    char quote = '\0';
    while (!cursor_.done() && cursor_.peek() != '\n' && open > 0) {
      if (text.size() > longest) return text + '\\';
      if (quote == '\0' && skip_blank_or_comment()) {
        if (!text.empty() && text.back() != ' ') text += ' ';
        continue;
      }
      const char c = cursor_.peek();
      if (quote == '\0' && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == quote) {
        quote = '\0';
      } else if (quote != '\0' && c == '\\') {
        text += c;
        cursor_.step();
        if (cursor_.done() || cursor_.peek() == '\n') break;
      } else if (quote == '\0' && in_parentheses) {
        if (c == '(') ++open;
        if (c == ')') --open;
      }
      text += cursor_.peek();
      cursor_.step();
    }
    text.resize(text.find_last_not_of(' ') + 1);
    return text;
  }

  // Records a #define without consuming its replacement.
  void definition() {
    const Cursor begin = cursor_;
    skip_blanks_and_comments();
    std::string name = read_word();
    const bool has_parameters = cursor_.peek() == '(';
    defining_ = has_parameters ? Defining::with_parameters : Defining::without_parameters;
    std::string body = (has_parameters ? "" : " ") + read_line(kLongestLine);
    if (!name.empty()) scan_.macros.push_back({std::move(name), std::move(body)});
    cursor_ = begin;
  }

  void word() {
    const std::size_t begin = cursor_.at();
    const std::string word = read_word();
    const bool only_named = std::exchange(only_named_, word == "defined");
    if (dialect_.raw_literals && cursor_.peek() == '"' &&
        std::find(kRawPrefixes.begin(), kRawPrefixes.end(), word) != kRawPrefixes.end())
      return raw_literal();
    if (!asks_for_header(word) || only_named) return;
    const TextRange where{begin, cursor_.at()};
    ComputedHeader computed{word, {}, "the header is not written behind it"};
    const Cursor behind = cursor_;
    skip_blanks_and_comments();
    if (cursor_.peek() == '(') {
      cursor_.step();
      skip_blanks_and_comments();
      if (header_name(where, word == "__has_include_next", true)) return;
      computed.operand = read_line(kLongestInParentheses, true);
      computed.text += "(" + computed.operand;
      computed.unknown.clear();
      if (defining_ == Defining::with_parameters) computed.unknown = "a macro with parameters asks for it";
      if (defining_ == Defining::without_parameters && !computed.operand.ends_with(')'))
        computed.unknown = "where it ends depends on what follows the macro";
      if (word == "__has_include_next")
        computed.unknown = "where its search goes on depends on the folder of this file";
    }
    cursor_ = behind;  // the operand may contain another __has_include
    scan_.computed.push_back(std::move(computed));
  }

  // Reads a header's name, in which quotes, backslashes and comment signs have no meaning. Returns
  // false if there is none.
  bool header_name(TextRange word, bool next, bool asks) {
    const char open = cursor_.peek();
    if (open != '<' && open != '"') return false;
    const char close = open == '<' ? '>' : '"';
    HeaderReference reference{{}, open == '"', next, asks, is_host_only(), word, {cursor_.at(), 0}};
    cursor_.step();
    for (; !cursor_.done() && cursor_.peek() != close && cursor_.peek() != '\n'; cursor_.step())
      reference.name += cursor_.peek();
    if (cursor_.peek() != close || reference.name.empty()) return true;  // an error that the compiler reports
    reference.operand.end = cursor_.at() + 1;
    cursor_.step();
    scan_.references.push_back(std::move(reference));
    return true;
  }

  // A literal ends with its line at the latest, because a skipped group may contain a single
  // apostrophe.
  void literal(char quote) {
    only_named_ = false;
    for (cursor_.step(); !cursor_.done() && cursor_.peek() != '\n'; cursor_.step()) {
      if (cursor_.peek() == quote) return end_literal();
      if (cursor_.peek() == '\\') cursor_.step();
      if (cursor_.peek() == '\n') return;
    }
  }

  // A word that follows immediately is a suffix: `"a"R"(` begins no raw literal.
  void end_literal() {
    cursor_.step();
    while (is_word_character(cursor_.peek()))
      cursor_.step();
  }

  // Raw literals have no joined lines and no escapes, also in skipped groups.
  void raw_literal() {
    const std::size_t quote = cursor_.at();
    const std::size_t open = text_.find_first_of("()\\\" \t\v\f\r\n", quote + 1);
    if (open == std::string_view::npos || text_[open] != '(' || open - quote - 1 > kLongestDelimiter)
      return literal('"');
    const std::string end = ")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"";
    const std::size_t close = text_.find(end, open);
    // An unterminated raw literal ends with its line.
    if (close == std::string_view::npos) return literal('"');
    cursor_.jump(close + end.size() - 1);
    end_literal();
  }

  // In 1'000 and 1e+3R the apostrophe begins no literal, and the text after the sign is no separate
  // word.
  void number() {
    only_named_ = false;
    while (true) {
      const char c = cursor_.peek();
      if (c == '\'') {
        Cursor ahead = cursor_;
        ahead.step();
        if (!dialect_.digit_separators || !is_word_character(ahead.peek())) return;
      } else if (!is_word_character(c) && c != '.') {
        // A compiler's table decides which universal character names a number may contain.
        scan_.is_unclear = scan_.is_unclear || c == '\\';
        return;
      }
      cursor_.step();
      const bool exponent = c == 'e' || c == 'E' || (dialect_.hexadecimal_floats && (c == 'p' || c == 'P'));
      if (exponent && (cursor_.peek() == '+' || cursor_.peek() == '-')) cursor_.step();
    }
  }

  std::string_view text_;
  SourceDialect dialect_;
  Cursor cursor_;
  bool has_host_groups_;
  std::vector<HostGroup> groups_;  // the conditions that are open, the innermost last
  IncludeScan scan_;
  bool begins_line_ = true;
  Defining defining_ = Defining::nothing;  // in this line
  bool only_named_ = false;                // the next word is only named, not used
};

}  // namespace

SourceDialect SourceDialect::of(std::string_view standard) {
  const auto is_before = [&](std::initializer_list<std::string_view> older) {
    return std::find(older.begin(), older.end(), standard) != older.end();
  };
  SourceDialect dialect;
  dialect.trigraphs = is_before({"c++03", "c++11", "c++14"});
  dialect.raw_literals = !is_before({"c++03"});
  dialect.digit_separators = !is_before({"c++03", "c++11"});
  dialect.hexadecimal_floats = !dialect.trigraphs;
  return dialect;
}

IncludeScan scan_includes(std::string_view text, const SourceDialect& dialect) {
  return Scanner(text, dialect).run();
}

std::string with_names(std::string_view text, const std::vector<HeaderReference>& references,
                       const std::vector<std::string>& names) {
  std::string out;
  out.reserve(text.size() + references.size() * 16);
  std::size_t copied = 0;
  const auto put = [&](const TextRange& range, const std::string& instead) {
    out += text.substr(copied, range.begin - copied);
    out += instead;
    const std::string_view was = text.substr(range.begin, range.end - range.begin);
    for (auto lines = std::count(was.begin(), was.end(), '\n'); lines > 0; --lines)
      out += "\\\n";
    copied = range.end;
  };
  for (std::size_t i = 0; i < references.size(); ++i) {
    const HeaderReference& reference = references[i];
    if (reference.next) put(reference.word, reference.asks ? "__has_include" : "include");
    put(reference.operand, "<" + names[i] + ">");
  }
  out += text.substr(copied);
  return out;
}

}  // namespace cubinet
