// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cubinet {

// A bundle's root as bytes, little-endian; docs/formats/bundle.md:
//
// clang-format off
//   <root>  ::= "CBUN" u16 kBundleVersion, u8 profile, u8 0, u32 bytes of the root, u32 page bytes,
//               <string> channel, u64 version, u64 created, u64 expires,
//               u64 records, u64 images, u64 bytes of the images,
//               u32 count { <string> target }, u32 count { <string> compiler or library },   ; ascending
//               4 times: u32 count { u64 first, u32 stored bytes, 32 bytes SHA-256 },       ; records, keys, names, images
//               u64 bytes and 32 bytes SHA-256 of the dictionary, u64 bytes of the frames,
//               zeros to a multiple of 64 with the digest, 32 bytes SHA-256 of all that precedes
// clang-format on
inline constexpr std::uint16_t kBundleVersion = 2;
inline constexpr std::uint64_t kMaximumBundleBytes = std::uint64_t{64} << 30;
inline constexpr std::uint32_t kDefaultPageBytes = std::uint32_t{16} << 10;
// One record fits into a page, whatever it holds.
inline constexpr std::uint32_t kMaximumPageBytes = std::uint32_t{32} << 20;
inline constexpr std::uint64_t kMaximumDictionaryBytes = std::uint64_t{2} << 20;
inline constexpr std::uint64_t kBundleAlignment = 64;

// A number of a table whose length was checked. REQUIRES: it lies within `bytes`.
template <class Integer>
Integer integer_at(ByteView bytes, std::size_t offset) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i)
    value |= static_cast<Integer>(static_cast<Integer>(bytes[offset + i]) << (8 * i));
  return value;
}

enum class BundleTable : std::uint8_t { records, keys, names, images };
inline constexpr std::size_t kBundleTables = 4;

struct BundlePage {
  std::uint64_t first = 0;   // of its first entry what the table ascends by
  std::uint32_t stored = 0;  // bytes in the pack
  Sha256Digest digest;       // of these
  std::uint64_t offset = 0;  // from the root's beginning; follows from those before
};

// The root, and where what it leads to lies.
struct BundleMap {
  BundleRoot root;
  std::uint32_t page_bytes = kDefaultPageBytes;  // of the largest page when unpacked
  std::array<std::vector<BundlePage>, kBundleTables> tables;
  std::uint64_t dictionary_bytes = 0;
  Sha256Digest dictionary;
  std::uint64_t frames_bytes = 0;
  // These follow from the others.
  std::uint64_t root_bytes = 0;
  std::uint64_t dictionary_offset = 0;
  std::uint64_t frames_offset = 0;

  const std::vector<BundlePage>& pages(BundleTable table) const {
    return tables[static_cast<std::size_t>(table)];
  }
};

// Fills in what follows from the rest. The bytes may be more than kMaximumRootBytes: then no bundle can have
// them.
Bytes encode_root(BundleMap& map);

// How many of the bytes, which a bundle begins with, are its root: all that is looked at before signatures.
// unsupported for a newer version, corruption where they are no whole root.
Result<std::uint64_t> root_bytes_of(ByteView bytes);

// The root that `bytes` begin with; what follows it is not looked at. unsupported for a newer version or an
// unknown profile, corruption otherwise.
Result<BundleMap> decode_root(ByteView bytes);

}  // namespace cubinet
