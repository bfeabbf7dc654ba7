// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bundle/bundle_branches.hpp"

#include <cubinet/base/bytes.hpp>
#include <cubinet/base/sha256.hpp>
#include <cubinet/cubin_registry/bundle.hpp>
#include <cubinet/cubin_registry/byte_source.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cubinet {

// A bundle's root as bytes, little-endian; docs/formats/bundle.md:
//
// clang-format off
//   <root>  ::= "CBUN" u16 kBundleVersion, u8 profile, u8 0, u32 bytes of the root,
//               <string> channel, u64 version, u64 created, u64 expires,
//               u64 records, u64 images, u64 bytes of the images,
//               u32 count { <string> target },  ; ascending
//               u32 count { <string> compiler or library },  ; ascending
//               3 times: u32 count { <page> },  ; to the branches of records, keys, names
//               u64 bytes of the pages behind these, u64 bytes and
//               32 bytes SHA-256 of the dictionary,
//               u64 bytes and 32 bytes SHA-256 of the tuning table, u64 bytes of the frames,
//               zeros to a multiple of 64 with the digest, 32 bytes SHA-256 of all that precedes
// clang-format on
inline constexpr std::string_view kBundleMagic = "CBUN";
inline constexpr std::uint16_t kBundleVersion = 5;
inline constexpr std::uint64_t kMaximumBundleBytes = std::uint64_t{64} << 30;
inline constexpr std::uint64_t kMaximumDictionaryBytes = std::uint64_t{2} << 20;
// The limit of the images' bytes: kAnyImageBytes, plus kMostImageBytesPerFrameByte for each byte of
// the frames.
inline constexpr std::uint64_t kAnyImageBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMostImageBytesPerFrameByte = 256;
inline constexpr std::uint64_t kBundleAlignment = 64;

// Returns a number of a table whose length was checked. REQUIRES: the number is within `bytes`.
template <class Integer>
Integer integer_at(ByteView bytes, std::size_t offset) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i)
    value |= static_cast<Integer>(static_cast<Integer>(bytes[offset + i]) << (8 * i));
  return value;
}

enum class BundleTable : std::uint8_t { records, keys, names };
inline constexpr std::size_t kBundleTables = 3;

// The root and the locations of its parts.
struct BundleMap {
  // Returns false if the images have more bytes than the limit for these frames.
  bool images_fit() const;

  BundleRoot root;
  std::array<std::vector<BundlePage>, kBundleTables> branches;
  std::uint64_t pages_bytes = 0;  // bytes of all pages below branches
  std::uint64_t dictionary_bytes = 0;
  Sha256Digest dictionary;
  std::uint64_t tuning_bytes = 0;
  Sha256Digest tuning;
  std::uint64_t frames_bytes = 0;
  // derived from the members above
  std::uint64_t root_bytes = 0;
  std::uint64_t pages_offset = 0;
  std::uint64_t dictionary_offset = 0;
  std::uint64_t tuning_offset = 0;
  std::uint64_t frames_offset = 0;

  const std::vector<BundlePage>& branches_of(BundleTable table) const {
    return branches[static_cast<std::size_t>(table)];
  }
};

// Encodes the root and fills in the derived members. If the result exceeds kMaximumRootBytes, it
// cannot be used in a bundle.
Bytes encode_root(BundleMap& map);

// Returns the stated size of the root. Returns an error (corruption) if the bytes do not begin a
// root.
Result<std::uint64_t> stated_root_bytes(ByteView bytes);
// Returns the size of the root at the beginning of a bundle. Only this is parsed before signatures
// are verified. Returns unsupported for a newer version, corruption if the root is incomplete.
Result<std::uint64_t> root_bytes_of(ByteView bytes);

// Decodes the root at the beginning of `bytes` and ignores the rest. Returns unsupported for a
// newer version or an unknown profile, corruption for damage.
Result<BundleMap> decode_root(ByteView bytes);

}  // namespace cubinet
