// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>

#include <cstddef>
#include <optional>

namespace cubinet {

// Unpacks an LZ4 block (lz4_Block_format.md) of exactly `size` bytes; nullopt for what is none. The one use
// of LZ4 here, and shorter than a dependency.
std::optional<Bytes> unpack_lz4_block(ByteView packed, std::size_t size);

}  // namespace cubinet
