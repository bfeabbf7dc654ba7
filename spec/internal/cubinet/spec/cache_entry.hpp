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
  std::string name;  // no path: is_cache_file_name()
  Bytes content;

  friend bool operator==(const CacheFile&, const CacheFile&) = default;
};

// What such a file may be called: letters, digits and "_.@+-", at most 200 of them, not "." and not "..".
// Nothing that is called so leads out of the folder that it is put into.
bool is_cache_file_name(std::string_view name);

inline constexpr std::size_t kMaximumCacheFiles = 64;

// The bytes of an image of ImageKind::cache_entry (docs/formats/cache_entry.md): the files of one entry, so
// that they come and go together. REQUIRES: ascending by name, each name is_cache_file_name().
Bytes encode_cache_entry(std::span<const CacheFile> files);
// corruption for whatever encode_cache_entry() would not have written.
Result<std::vector<CacheFile>> decode_cache_entry(ByteView image);

}  // namespace cubinet
