// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet {

// A file of an entry of another compiler's cache.
struct CacheFile {
  std::string name;  // satisfies is_cache_file_name(), so it is not a path
  Bytes content;

  friend bool operator==(const CacheFile&, const CacheFile&) = default;
};

// Returns whether the name is allowed: 1 to 200 letters, digits and "_.@+-", except "." and "..".
// No such name leads out of the folder that the file is written to.
bool is_cache_file_name(std::string_view name);

inline constexpr std::size_t kMaximumCacheFiles = 64;

// Returns the bytes of an image of ImageKind::cache_entry (docs/formats/cache_entry.md). It holds
// all files of one entry, so that they are stored and removed together. REQUIRES: ascending by
// name, each name is_cache_file_name().
Bytes encode_cache_entry(std::span<const CacheFile> files);
// Returns corruption for bytes that encode_cache_entry() would not have written.
Result<std::vector<CacheFile>> decode_cache_entry(ByteView image);

}  // namespace cubinet
