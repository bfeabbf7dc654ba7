// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

ByteView as_bytes(std::string_view text);
std::string_view as_text(ByteView bytes);

// Returns lower-case hexadecimal, two digits per byte.
std::string to_hex(ByteView bytes);
// Accepts lower and upper case. Returns invalid_argument for an odd length or any other character.
Result<Bytes> from_hex(std::string_view text);

}  // namespace cubinet
