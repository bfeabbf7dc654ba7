// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/base64.hpp>

#include <algorithm>
#include <cstdint>

namespace cubinet {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(ByteView bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < count ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= count ? kBase64Digits[group >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

Result<Bytes> from_base64(std::string_view text) {
  const Error wrong{ErrorCode::invalid_argument, "it is no base64, or not its canonical form"};
  if (text.size() % 4 != 0) return wrong;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  const std::size_t digits = text.size() - padding;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t value = at < digits ? kBase64Digits.find(text[at]) : 0;
    if (value == std::string_view::npos) return wrong;
    group = group << 6U | static_cast<std::uint32_t>(value);
    if (at % 4 != 3) continue;
    const std::size_t count = at + 1 == text.size() ? 3 - padding : 3;
    if ((group & ((1U << 8U * (3 - count)) - 1)) != 0) return wrong;
    for (std::size_t i = 0; i < count; ++i)
      bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * i) & 255U));
    group = 0;
  }
  return bytes;
}

}  // namespace cubinet
