// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/cubin_registry/downloads.hpp>

namespace cubinet {

// The stored record of a channel; little-endian, docs/formats/downloads.md:
//
//   <channel> ::= "CCHN" u16 version, <string> place, 3 times: u8 0 or 1 { 32 bytes SHA-256 },
//                 i64 when it was asked, u64 asked, u64 found, u64 used, u64 bytes,
//                 32 bytes SHA-256 of all that precedes
Bytes encode_channel(const KnownChannel& channel);
// Returns corruption for damaged bytes, unsupported for a newer version.
Result<KnownChannel> decode_channel(ByteView bytes);

// The limit of a file. Real ones are smaller.
inline constexpr std::uint64_t kMaximumChannelBytes = 65'536;

}  // namespace cubinet
