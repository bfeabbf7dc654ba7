// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/utf8.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace cubinet {

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes > text.size()) return {};
  std::uint32_t value = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    value = (value << 6U) | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  if (value < kLeast[bytes] || surrogate || value > 0x10ffff) return {};
  return {value, bytes};
}

bool is_hidden(std::uint32_t character) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kHidden[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
      {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
      {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
  return std::any_of(std::begin(kHidden), std::end(kHidden), [&](const auto& range) {
    return character >= range.first && character <= range.second;
  });
}

}  // namespace cubinet
