// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstddef>
#include <optional>

namespace cubinet {

// Unpacks an LZ4 block (lz4_Block_format.md) of exactly `size` bytes. Returns nullopt if it is
// malformed. LZ4 is used only here, and this code is smaller than a dependency.
std::optional<Bytes> unpack_lz4_block(ByteView packed, std::size_t size);

}  // namespace cubinet
