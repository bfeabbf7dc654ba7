// SPDX-License-Identifier: Apache-2.0
#include "metadata_scanner.hpp"

#include <cubinet/base/text.hpp>

#include <algorithm>
#include <string>

namespace cubinet {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

class Scanner {
 public:
  Scanner(std::string_view text, MetadataVisitor& visitor) : text_(text), visitor_(visitor) {}

  // Scans the top level, where only words, '=', ']' and braces matter. Braces of namespaces and
  // functions are entered.
  Result<void> run() {
    while (true) {
      CUBINET_TRY(skip_blank());
      if (at_end()) return {};
      const char c = text_[position_];
      if (is_word_character(c)) {
        CUBINET_TRY(take_word());
      } else if (c == '"' || c == '\'') {
        CUBINET_TRY(skip_quoted());
      } else if (c == '{' && array_type_.data() != nullptr && after_equals_) {
        ++position_;
        CUBINET_TRY(scan_array());
      } else {
        note_punctuation(c);
        ++position_;
      }
    }
  }

 private:
  bool at_end() const { return position_ >= text_.size(); }
  bool starts(std::string_view what) const { return text_.substr(position_).starts_with(what); }

  Error damaged(std::string_view reason) {
    return Error{
        ErrorCode::corruption,
        "the metadata header " + std::string(reason) + " (line " + std::to_string(line_at(position_)) + ")",
        "fetch the header again"};
  }

  // Returns the line of a position. Positions only grow between calls, so counting is linear over
  // the whole scan.
  std::size_t line_at(std::size_t position) {
    position = std::min(position, text_.size());
    if (position > counted_) {
      line_ +=
          static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                              text_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
      counted_ = position;
    }
    return line_;
  }

  Result<void> skip_comment() {
    const bool block = text_[position_ + 1] == '*';
    const std::size_t end = text_.find(block ? "*/" : "\n", position_ + 2);
    if (end == std::string_view::npos && block) return damaged("ends inside a comment");
    position_ = end == std::string_view::npos ? text_.size() : end + (block ? 2 : 1);
    return {};
  }

  bool at_comment() const { return starts("//") || starts("/*"); }

  // Skips a directive, which is the only meaning of '#' in such a file. A backslash continues it.
  void skip_directive() {
    while (!at_end()) {
      const std::size_t end = text_.find('\n', position_);
      if (end == std::string_view::npos) {
        position_ = text_.size();
        return;
      }
      const bool continued = end > position_ && text_[end - 1] == '\\';
      position_ = end + 1;
      if (!continued) return;
    }
  }

  Result<void> skip_blank() {
    while (!at_end()) {
      if (is_space(text_[position_])) {
        ++position_;
      } else if (at_comment()) {
        CUBINET_TRY(skip_comment());
      } else if (text_[position_] == '#') {
        skip_directive();
      } else {
        return {};
      }
    }
    return {};
  }

  // Skips from the opening quote past the closing one.
  Result<void> skip_quoted() {
    const char quote = text_[position_];
    for (++position_; !at_end(); ++position_) {
      if (text_[position_] == '\\') {
        ++position_;
      } else if (text_[position_] == quote) {
        ++position_;
        return {};
      }
    }
    return damaged("ends inside a string");
  }

  // Reads a word without its namespaces: "gemm::GemmConfig" counts as GemmConfig.
  std::string_view word() {
    const std::size_t begin = position_;
    while (!at_end() && is_word_character(text_[position_]))
      ++position_;
    return text_.substr(begin, position_ - begin);
  }

  Result<void> take_word() {
    const std::string_view name = word();
    if (name == "struct") {
      CUBINET_TRY(skip_blank());
      const std::string_view struct_name = word();
      CUBINET_TRY(skip_blank());
      if (!struct_name.empty() && !at_end() && text_[position_] == '{') {
        ++position_;
        return scan_struct(struct_name);
      }
      return {};
    }
    previous_word_ = last_word_;
    last_word_ = name;
    return {};
  }

  // Tracks `type name [ … ] = {`, in which the type is the word before the name.
  void note_punctuation(char c) {
    if (c == '[') {
      array_type_ = previous_word_;
      after_equals_ = false;
    } else if (c == '=') {
      after_equals_ = true;
    } else if (c == ';' || c == '{' || c == '}') {
      array_type_ = {};
      after_equals_ = false;
    }
  }

  // Scans a struct. The name of each member is the last word before its ';' (or before '=', ':' and
  // '[').
  Result<void> scan_struct(std::string_view name) {
    std::vector<std::string_view> fields;
    std::string_view candidate;
    bool settled = false;
    for (std::size_t depth = 1; depth > 0;) {
      CUBINET_TRY(skip_blank());
      if (at_end()) return damaged("ends inside a struct");
      const char c = text_[position_];
      if (is_word_character(c)) {
        const std::string_view found = word();
        if (!settled) candidate = found;
        continue;
      }
      if (c == '"' || c == '\'') {
        CUBINET_TRY(skip_quoted());
        continue;
      }
      ++position_;
      if (c == '{') ++depth;
      if (c == '}') --depth;
      if (c == '=' || c == '[') settled = true;
      if (c == ';' && depth == 1) {
        if (!candidate.empty()) fields.push_back(candidate);
        candidate = {};
        settled = false;
      }
    }
    visitor_.on_struct(name, fields);
    return {};
  }

  Result<void> scan_array() {
    const std::string_view type = array_type_;
    array_type_ = {};
    after_equals_ = false;
    while (true) {
      CUBINET_TRY(skip_blank());
      if (at_end()) return damaged("ends inside an array");
      const char c = text_[position_];
      if (c == '}') {
        ++position_;
        return {};
      }
      if (c == '{') {
        const std::size_t line = line_at(position_);
        ++position_;
        CUBINET_TRY(scan_row());
        visitor_.on_row(type, line, values_);
      } else if (c == '"' || c == '\'') {
        CUBINET_TRY(skip_quoted());
      } else {
        ++position_;
      }
    }
  }

  void end_value(std::size_t begin, std::size_t end) {
    while (begin < end && is_space(text_[begin]))
      ++begin;
    while (end > begin && is_space(text_[end - 1]))
      --end;
    values_.push_back(text_.substr(begin, end - begin));
  }

  Result<void> scan_row() {
    values_.clear();
    std::size_t depth = 0;
    std::size_t begin = position_;
    while (!at_end()) {
      const char c = text_[position_];
      if (c == '"' || c == '\'') {
        CUBINET_TRY(skip_quoted());
        continue;
      }
      if (c == '/' && at_comment()) {
        const bool leads = end_of_blank(begin) == position_;
        CUBINET_TRY(skip_comment());
        if (leads) begin = position_;
        continue;
      }
      if (c == '{' || c == '(' || c == '[') {
        ++depth;
      } else if (depth > 0 && (c == '}' || c == ')' || c == ']')) {
        --depth;
      } else if (depth == 0 && (c == ',' || c == '}')) {
        // A list may end in a comma.
        if (c == ',' || end_of_blank(begin) != position_) end_value(begin, position_);
        begin = position_ + 1;
        if (c == '}') {
          ++position_;
          return {};
        }
      }
      ++position_;
    }
    return damaged("ends inside a row");
  }

  std::size_t end_of_blank(std::size_t from) const {
    while (from < position_ && is_space(text_[from]))
      ++from;
    return from;
  }

  std::string_view text_;
  MetadataVisitor& visitor_;
  std::size_t position_ = 0;
  std::size_t counted_ = 0;
  std::size_t line_ = 1;
  std::string_view previous_word_;
  std::string_view last_word_;
  std::string_view array_type_;
  bool after_equals_ = false;
  std::vector<std::string_view> values_;
};

}  // namespace

Result<void> scan_metadata(std::string_view text, MetadataVisitor& visitor) {
  return Scanner(text, visitor).run();
}

}  // namespace cubinet
