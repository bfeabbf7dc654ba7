// SPDX-License-Identifier: Apache-2.0
#include "option_lines.hpp"

#include "arguments.hpp"

#include <cubinet/base/text.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace cubinet::cli {
namespace {

// Returns the values of "8,16" or "--batch=8,16", each as one word.
std::vector<std::string> values_of(const std::string& word) {
  const std::size_t begin = word.starts_with('-') ? word.find('=') + 1 : 0;
  if (word.starts_with('-') && begin == 0) return {word};
  std::vector<std::string> values;
  for (std::size_t at = begin; at <= word.size();) {
    const std::size_t end = std::min(word.find(',', at), word.size());
    values.push_back(word.substr(0, begin) + word.substr(at, end - at));
    at = end + 1;
  }
  return values;
}

Error too_many(const std::string& file) {
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' stands for more than {} lines", file, kMaximumOptionLines),
               "split it into several"};
}

}  // namespace

std::string OptionLine::text() const {
  return join(words, " ");
}

Result<std::vector<OptionLine>> parse_option_lines(std::string_view text, const std::string& file) {
  std::vector<OptionLine> parsed;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::vector<OptionLine> products(1);
    products.front().where = fmt::format("'{}', line {}", file, number);
    if (line.find('\0') != std::string::npos)  // a NUL would end every message that quotes the line
      return Error{ErrorCode::invalid_argument, products.front().where + " has a NUL byte",
                   "write it as text"};
    for (std::string word; words >> word;) {
      if (word.starts_with('#') && products.front().words.empty()) break;
      std::vector<OptionLine> extended;
      for (const OptionLine& product : products) {
        for (const std::string& value : values_of(word)) {
          extended.push_back(product);
          extended.back().words.push_back(value);
          if (parsed.size() + extended.size() > kMaximumOptionLines) return too_many(file);
        }
      }
      products = std::move(extended);
    }
    if (products.front().words.empty()) continue;
    if (parsed.size() + products.size() > kMaximumOptionLines) return too_many(file);
    parsed.insert(parsed.end(), products.begin(), products.end());
  }
  if (parsed.empty()) {
    return Error{ErrorCode::invalid_argument, "'" + file + "' holds no line",
                 "write options, one problem a line: --batch 8,16 --kv-len 4096 --heads-q 64"};
  }
  return parsed;
}

Result<void> parse_options(CLI::App& options, const OptionLine& line) {
  options.set_help_flag();
  std::vector<std::string> words = line.words;
  std::reverse(words.begin(), words.end());  // CLI11 reads them from the back
  try {
    options.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return Error{
        ErrorCode::invalid_argument, line.where + ": " + message_of(error, options),
        "write the options that say the problem: --op mla-decode --batch 8 --kv-len 4096 --heads-q 128"};
  }
  return {};
}

}  // namespace cubinet::cli
