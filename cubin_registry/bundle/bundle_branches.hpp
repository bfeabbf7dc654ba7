// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/bytes.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/base/sha256.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cubinet {

// The entries that lead to a page, little-endian. A root leads to branches, a branch to the pages
// of its table (docs/formats/bundle.md):
//
// clang-format off
//   <page>   ::= u64 first, u32 stored bytes, 32 bytes SHA-256 of these  ; ascending by first
//   <branch> ::= u64 offset of its first page from the first of all, { <page> }  ; contiguous
// clang-format on
struct BundlePage {
  std::uint64_t first = 0;   // number of its first entry
  std::uint32_t stored = 0;  // bytes in the pack
  Sha256Digest digest;       // of the stored bytes
  std::uint64_t offset = 0;  // Offset from the root's beginning. Follows from the preceding pages.
};

inline constexpr std::uint32_t kBranchBytes = std::uint32_t{4} << 10;
// Room for 1489 pages. A root has room for about 1400 branches.
inline constexpr std::uint32_t kMaximumBranchBytes = std::uint32_t{64} << 10;
// The target size of a page. A page with a single record may be larger.
inline constexpr std::uint32_t kPageBytes = std::uint32_t{8} << 10;
// The limit of a page. Any record fits into a page of this size.
inline constexpr std::uint32_t kMaximumPageBytes = std::uint32_t{32} << 20;
inline constexpr std::size_t kPageEntryBytes = 44;

void write_pages(ByteWriter& writer, std::span<const BundlePage> pages);
// Reads a list of pages that fills `bytes`. The first page is stored at `offset`, the others follow
// it. Returns an error (corruption) if they do not ascend, or one is empty or larger than `most`
// bytes.
Result<std::vector<BundlePage>> read_pages(ByteView bytes, std::uint64_t offset, std::uint32_t most);

// Computes the ends of pages of at most a given number of bytes. Entries of one number are
// separated only if they begin a page and do not fit into it. So one page holds all entries of any
// number that it does not begin with. REQUIRES: ascending by number.
struct SizedEntry {
  std::uint64_t number = 0;
  std::size_t bytes = 0;
};
std::vector<std::size_t> cut_pages(std::span<const SizedEntry> entries, std::size_t limit);
// Returns the range of pages that may hold entries of the number: the first, and the one behind the
// last.
std::pair<std::size_t, std::size_t> pages_with(std::span<const BundlePage> pages, std::uint64_t number);

// Encodes a branch. REQUIRES: contiguous pages, their offsets relative to the first page of all.
Bytes encode_branch(std::span<const BundlePage> pages);
// Returns a branch's pages of at most `most` bytes each. Returns an error (corruption) if they are
// not all within the `pages_bytes` bytes from `pages_offset` on.
Result<std::vector<BundlePage>> decode_branch(ByteView branch, std::uint64_t pages_offset,
                                              std::uint64_t pages_bytes, std::uint32_t most);

}  // namespace cubinet
