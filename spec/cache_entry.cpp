// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/text.hpp>
#include <cubinet/spec/cache_entry.hpp>

#include <algorithm>

namespace cubinet {
namespace {

// The digest in its record covers it.
constexpr BinaryFormat kCacheEntryFormat{.name = "an entry of another compiler's cache", .magic = "CENT"};
constexpr std::size_t kMaximumNameBytes = 200;

}  // namespace

bool is_cache_file_name(std::string_view name) {
  if (name.empty() || name.size() > kMaximumNameBytes || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_word_character(c) || c == '.' || c == '@' || c == '+' || c == '-';
  });
}

Bytes encode_cache_entry(std::span<const CacheFile> files) {
  ByteWriter writer;
  kCacheEntryFormat.write_head(writer);
  writer.u32(static_cast<std::uint32_t>(files.size()));
  for (const CacheFile& file : files) {
    writer.string(file.name);
    writer.string(as_text(file.content));
  }
  return writer.take();
}

Result<std::vector<CacheFile>> decode_cache_entry(ByteView image) {
  ByteReader reader(image);
  CUBINET_TRY(kCacheEntryFormat.read_head(reader));
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  if (count == 0 || count > kMaximumCacheFiles)
    return kCacheEntryFormat.damaged("has no file, or more than 64");
  std::vector<CacheFile> files;
  for (std::uint32_t i = 0; i < count; ++i) {
    CacheFile file;
    CUBINET_TRY_ASSIGN(file.name, reader.string());
    if (!is_cache_file_name(file.name)) return kCacheEntryFormat.damaged("has a file whose name is none");
    if (i > 0 && file.name <= files.back().name)
      return kCacheEntryFormat.damaged("does not list its files in order");
    CUBINET_TRY_ASSIGN(const ByteView content, reader.blob());
    file.content.assign(content.begin(), content.end());
    files.push_back(std::move(file));
  }
  if (reader.remaining() != 0) return kCacheEntryFormat.damaged("has bytes after its end");
  return files;
}

}  // namespace cubinet
