// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace cubinet {

// Returns the little-endian bytes of a number, the order of all stored and hashed numbers.
template <std::unsigned_integral Integer>
std::array<std::byte, sizeof(Integer)> little_endian(Integer value) {
  std::array<std::byte, sizeof(Integer)> bytes{};
  // A shift would promote a narrow type to int, which is signed.
  const std::uint64_t wide = value;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((wide >> (8U * i)) & 0xffU);
  return bytes;
}

}  // namespace cubinet
