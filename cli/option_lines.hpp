// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <CLI/App.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::cli {

// Options as one writes them after a verb, of a line of a file.
struct OptionLine {
  std::string where;  // "'FILE', line 3"
  std::vector<std::string> words;

  std::string text() const;
};

// The lines of a file; without those that are blank or begin with '#'. Words hold no blanks. A
// list, 8,16, stands for each of its values, and a line for the product of its lists, the last one
// changing fastest. invalid_argument where that is more than kMaximumOptionLines, or nothing is
// left.
inline constexpr std::size_t kMaximumOptionLines = 10'000;
inline constexpr std::uint64_t kMaximumOptionFile = std::uint64_t{1} << 20;  // bytes of such a file
Result<std::vector<OptionLine>> parse_option_lines(std::string_view text, const std::string& file);

// Has `options` parse the line. invalid_argument says where, and what is no option.
Result<void> parse_options(CLI::App& options, const OptionLine& line);

}  // namespace cubinet::cli
