// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_root.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/sha256.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cubinet {

// The pages of a bundle's three tables, uncompressed, little-endian (docs/formats/bundle.md):
//
// clang-format off
//   <records> ::= u32 count { u64 hash of the kernel, u32 end of the entry }, { <image> record }
//                 ; ends count from the page's beginning
//   <keys>    ::= { u64 key, u64 hash of the kernel }  ; ascending, none twice
//   <names>   ::= { u64 XXH3-64 of a name, u64 hash of the kernel }  ; ascending, none twice
//   <image>   ::= 32 bytes SHA-256, u64 offset of the frame, u32 its stored bytes, u32 its bytes,
//                 32 bytes SHA-256 of what is stored, u32 offset in it, u32 bytes, u8 codec
// clang-format on
//
// The entries of a table ascend by a number: hash, key, hash of the name. Entries of one number
// span several pages only if they do not fit into one.

// An entry as bytes, and the number that orders the table.
struct TableEntry {
  std::uint64_t number = 0;
  Bytes bytes;
};

struct FilledPage {
  std::uint64_t first = 0;
  Bytes bytes;
};

// Returns true if pages of the table are compressed by pack_page(). Hashes are not compressible.
bool is_packed(BundleTable table, BundleProfile profile);

// Returns the number of entries before the end of each page. `sizes` are the sizes of the encoded
// entries.
std::vector<std::size_t> page_ends(BundleTable table, std::vector<SizedEntry> sizes,
                                   std::uint32_t page_bytes);
// Fills pages up to page_ends(). An entry larger than `page_bytes` has its own page. REQUIRES: the
// entries in order.
std::vector<FilledPage> fill_pages(BundleTable table, const std::vector<TableEntry>& entries,
                                   std::uint32_t page_bytes);

// Returns an error (corruption) unless the page is well formed, begins with `first`, ascends, and
// has at most kPageBytes unless it holds a single record. Does not decode records. The functions
// below require that it passed.
Result<void> check_page(BundleTable table, ByteView page, std::uint64_t first);

std::size_t entries_of(BundleTable table, ByteView page);
// REQUIRES: i < entries_of(table, page).
std::uint64_t number_of(BundleTable table, ByteView page, std::size_t i);
ByteView entry_of(BundleTable table, ByteView page, std::size_t i);
// Returns the range of a number's entries: the first, and the one behind the last.
std::pair<std::size_t, std::size_t> entries_with(BundleTable table, ByteView page, std::uint64_t number);

// Return whether records are in order, and the hash of a name.
bool bundle_order(const CubinRecord& a, const CubinRecord& b);
std::uint64_t hash_of_name(std::string_view name);

// Encode and decode an entry of keys or names.
TableEntry encode_pair(std::uint64_t number, std::uint64_t kernel_hash);
std::uint64_t kernel_hash_of(ByteView pair);

// Returns the names that lead to a record: its functions' symbols, for a source also their C++
// names, and the name of a kernel of the maker `function`.
std::vector<std::string> names_of(const CubinRecord& record);

// The limits of a frame with several images: their number and bytes.
inline constexpr std::size_t kMostImagesOfFrame = 16;
inline constexpr std::uint32_t kMostBytesOfSharedFrame = std::uint32_t{8} << 20;

enum class FrameCodec : std::uint8_t { plain = 0, zstd = 1 };

// The location of an image, inside a frame that may hold other images too.
struct BundleImage {
  Sha256Digest digest;
  std::uint64_t frame_offset = 0;  // relative to the first frame
  std::uint32_t frame_stored = 0;
  std::uint32_t frame_bytes = 0;  // uncompressed
  Sha256Digest frame_digest;      // of the stored bytes
  std::uint32_t offset = 0;       // in the uncompressed frame
  std::uint32_t size = 0;
  FrameCodec codec = FrameCodec::plain;

  bool alone() const { return size == frame_bytes; }
  friend bool operator==(const BundleImage&, const BundleImage&) = default;
};
// Encodes an entry of records: the location of the image, then the record.
TableEntry encode_entry(const CubinRecord& record, const BundleImage& image);
// Returns the record in an entry.
ByteView record_in(ByteView entry);
// Returns the location of the image. Returns an error (corruption) if its numbers are inconsistent.
Result<BundleImage> image_in(ByteView entry);
// Returns whether image_in() would return this image.
bool leads_to(ByteView entry, const Sha256Digest& image);

}  // namespace cubinet
