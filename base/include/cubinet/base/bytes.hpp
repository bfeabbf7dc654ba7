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

// Lower-case hexadecimal, two digits a byte.
std::string to_hex(ByteView bytes);
// Accepts lower and upper case; an odd length or another character is invalid_argument.
Result<Bytes> from_hex(std::string_view text);

}  // namespace cubinet
