// SPDX-License-Identifier: Apache-2.0
#include "minisign_text.hpp"

#include <cubinet/base/text.hpp>

namespace cubinet {

bool is_comment(std::string_view text) {
  std::string without_tabs(text);
  std::replace(without_tabs.begin(), without_tabs.end(), '\t', ' ');
  return is_printable(without_tabs);
}

std::vector<std::string_view> exact_lines(std::string_view text, std::size_t count) {
  std::vector<std::string_view> lines;
  const std::string_view end = text.ends_with("\r\n") ? "\r\n" : "\n";
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = text.find(end);
    if (length == std::string_view::npos) return {};
    lines.push_back(text.substr(0, length));
    if (lines.back().find_first_of("\r\n") != std::string_view::npos) return {};
    text.remove_prefix(length + end.size());
  }
  if (!text.empty()) return {};
  return lines;
}

std::string key_id_text(const std::array<std::byte, 8>& id) {
  std::array<std::byte, 8> reversed = id;
  std::reverse(reversed.begin(), reversed.end());
  std::string digits = to_hex(reversed);
  for (char& digit : digits) {
    if (digit >= 'a') digit = static_cast<char>(digit - 'a' + 'A');
  }
  return digits;
}

}  // namespace cubinet
