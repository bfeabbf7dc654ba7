// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <CLI/App.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::cli {

// The options of one line of a file, written as after a verb.
struct OptionLine {
  std::string where;  // "'FILE', line 3"
  std::vector<std::string> words;

  std::string text() const;
};

// Parses the lines of a file. Skips lines that are blank or begin with '#'. Words contain no
// blanks. A list such as 8,16 expands to each of its values. A line with several lists expands to
// their product; the last list changes fastest. Returns invalid_argument if the file expands to
// more than kMaximumOptionLines or to nothing.
inline constexpr std::size_t kMaximumOptionLines = 10'000;
inline constexpr std::uint64_t kMaximumOptionFile = std::uint64_t{1} << 20;  // bytes of such a file
Result<std::vector<OptionLine>> parse_option_lines(std::string_view text, const std::string& file);

// Parses the line with `options`. The message of invalid_argument has the line's location and the
// word that is not an option.
Result<void> parse_options(CLI::App& options, const OptionLine& line);

}  // namespace cubinet::cli
