// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace cubinet {

// A reader of the words of PTX text without comments. The directives that callers search for are
// separate words.
class PtxWords {
 public:
  explicit PtxWords(std::string_view text) : text_(text) {}

  std::optional<std::string_view> next() {
    while (skip_one()) {
    }
    if (text_.empty()) return std::nullopt;
    const std::size_t end = text_.find_first_of(kNotInWords);
    const std::size_t length = end == std::string_view::npos ? text_.size() : end == 0 ? 1 : end;
    const std::string_view word = text_.substr(0, length);
    text_.remove_prefix(length);
    return word;
  }

 private:
  static constexpr std::string_view kSpace = " \t\r\n\f\v";
  static constexpr std::string_view kNotInWords = " \t\r\n\f\v,;(){}[]\"";

  // Skips one run of space or one comment.
  bool skip_one() {
    if (text_.empty()) return false;
    if (kSpace.find(text_.front()) != std::string_view::npos) {
      text_.remove_prefix(std::min(text_.find_first_not_of(kSpace), text_.size()));
      return true;
    }
    if (text_.starts_with("//")) {
      text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      return true;
    }
    if (text_.starts_with("/*")) {
      const std::size_t end = text_.find("*/", 2);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 2);
      return true;
    }
    return false;
  }

  std::string_view text_;
};

}  // namespace cubinet
