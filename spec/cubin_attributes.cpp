// SPDX-License-Identifier: Apache-2.0
#include "cubin_attributes.hpp"

#include <algorithm>

namespace cubinet {
namespace {

// The formats (EIFMT_*): no value, and one or two bytes in place of the size.
constexpr unsigned kNoValue = 1;
constexpr unsigned kByte = 2;
constexpr unsigned kHalf = 3;
constexpr unsigned kSized = 4;
constexpr std::size_t kAttributeHeadBytes = 4;

}  // namespace

std::uint32_t CubinAttribute::word(std::size_t index) const {
  std::uint32_t value_of = 0;
  for (std::size_t i = 0; i < 4 && 4 * index + i < value.size(); ++i)
    value_of |= std::to_integer<std::uint32_t>(value[4 * index + i]) << (8 * i);
  return value_of;
}

std::optional<CubinAttribute> CubinAttributes::next() {
  const auto byte = [&](std::size_t at) { return std::to_integer<unsigned>(rest_[at]); };
  if (rest_.empty() || damaged_) return std::nullopt;
  damaged_ = rest_.size() < kAttributeHeadBytes || byte(0) < kNoValue || byte(0) > kSized;
  if (damaged_) return std::nullopt;
  const std::size_t size = byte(0) == kSized ? byte(2) | byte(3) << 8U : 0;
  damaged_ = size > rest_.size() - kAttributeHeadBytes;
  if (damaged_) return std::nullopt;
  CubinAttribute attribute{static_cast<std::uint8_t>(byte(1)), rest_.subspan(kAttributeHeadBytes, size)};
  if (byte(0) == kByte || byte(0) == kHalf) attribute.value = rest_.subspan(2, byte(0) == kByte ? 1 : 2);
  rest_ = rest_.subspan(kAttributeHeadBytes + size);
  return attribute;
}

}  // namespace cubinet
