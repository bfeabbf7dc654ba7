// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/cubin_registry/bundle.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace cubinet {

// The bytes of a bundle, little-endian. Strings and integers as ByteWriter writes them.
//
//   <bundle>   ::= <header> <manifest> { <zeros> <image> }   ; images in the order of the table, ends with
//   the last one <header>   ::= "CBUN" u16 version, u16 zero, u64 manifest_bytes, u64 file_bytes, <digest>
//   <digest>   ::= 32 bytes SHA-256 of the header's first 24 bytes and the manifest
//   <manifest> ::= string name, u64 version, u32 images, { <location> }, u32 entries, { string record }
//   <location> ::= 32 bytes SHA-256, u64 offset, u64 size    ; ascending by digest
//   <record>   ::= as docs/formats/record.md, origin bundle   ; ascending by encoding, then fingerprint
//   <zeros>    ::= as many as bring the offset to a multiple of 64
//
// There is one sequence of bytes for one content: whatever deviates (another offset, an image that nobody
// names, a table out of order) is damage. Version history: 1 (2026-11) the first.
inline constexpr std::size_t kBundleHeaderBytes = 56;
inline constexpr std::uint64_t kBundleAlignment = 64;
// Tens of thousands of entries need some 50 MB; a damaged length must not exhaust memory.
inline constexpr std::uint64_t kMaximumManifestBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMaximumBundleBytes = std::uint64_t{8} << 30;

struct BundleImage {
  Sha256Digest digest;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct BundleManifest {
  BundleOptions options;
  std::vector<BundleImage> images;  // ascending by digest
  std::vector<std::shared_ptr<const CubinRecord>> records;
  std::uint64_t head_bytes = 0;  // header and manifest
  std::uint64_t file_bytes = 0;
};

// The order of records in a manifest.
bool bundle_order(const CubinRecord& a, const CubinRecord& b);

// Fills in the offsets and the file's length, and gives header and manifest. REQUIRES: images and records in
// order, records marked as this bundle's.
Bytes encode_bundle_head(BundleManifest& manifest);

struct BundleHeader {
  std::uint64_t manifest_bytes = 0;
  std::uint64_t file_bytes = 0;
};
// unsupported for a newer version, corruption otherwise.
Result<BundleHeader> decode_bundle_header(ByteView header);
Result<BundleManifest> decode_bundle_manifest(ByteView header, ByteView manifest);

// The image of a record: found by digest; nullptr when there is none.
const BundleImage* find_image(const std::vector<BundleImage>& images, const Sha256Digest& digest);

}  // namespace cubinet
