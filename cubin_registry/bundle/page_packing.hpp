// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <cstddef>

namespace cubinet {

// A page of records has at most this many times the bytes that a bundle stores of it. The records of a bundle
// therefore take memory in proportion to its size.
inline constexpr std::size_t kMostUnpacked = 16;

// Returns the stored bytes of a page of records: packed by zstd, or the page itself if zstd would make it
// smaller than its kMostUnpacked-th part.
Bytes pack_page(Bytes page);

// Returns the page of which `stored` is stored. Reads the stated size before it allocates. corruption if it
// is above the limits or the bytes cannot be unpacked.
Result<Bytes> unpack_page(Bytes stored);

}  // namespace cubinet
