// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <cstddef>

namespace cubinet {

// The largest ratio of a page of records to its stored bytes. It makes the memory for a bundle's
// records proportional to its size.
inline constexpr std::size_t kMostUnpacked = 16;

// Returns the stored bytes of a page of records: compressed by zstd, or the page itself if the
// ratio would exceed kMostUnpacked.
Bytes pack_page(Bytes page);

// Returns the uncompressed page. Reads the stated size before it allocates. Returns an error
// (corruption) if the size is above the limits or the bytes cannot be decompressed.
Result<Bytes> unpack_page(Bytes stored);

}  // namespace cubinet
