// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

namespace cubinet {

// How every number lies in what is stored and hashed.
template <std::unsigned_integral Integer>
std::array<std::byte, sizeof(Integer)> little_endian(Integer value) {
  std::array<std::byte, sizeof(Integer)> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((value >> (8U * i)) & 0xffU);
  return bytes;
}

}  // namespace cubinet
