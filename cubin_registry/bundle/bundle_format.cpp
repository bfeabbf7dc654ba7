// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_format.hpp"

#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/sha256_hasher.hpp>

#include <algorithm>
#include <tuple>

namespace cubinet {
namespace {

constexpr BinaryFormat kBundleFormat{.name = "the bundle", .magic = "CBUN", .newest = kBundleVersion};
constexpr std::size_t kDigestOffset = 24;

Error damaged(const std::string& reason) {
  return kBundleFormat.damaged("is damaged: " + reason);
}

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kBundleAlignment - 1) / kBundleAlignment * kBundleAlignment;
}

Bytes encode_manifest(const BundleManifest& manifest) {
  ByteWriter writer;
  writer.string(manifest.options.name);
  writer.u64(manifest.options.version);
  writer.u32(static_cast<std::uint32_t>(manifest.images.size()));
  for (const BundleImage& image : manifest.images) {
    writer.raw(image.digest.bytes);
    writer.u64(image.offset);
    writer.u64(image.size);
  }
  writer.u32(static_cast<std::uint32_t>(manifest.records.size()));
  for (const auto& record : manifest.records)
    writer.string(as_text(encode_record(*record)));
  return writer.take();
}

Sha256Digest digest_of(ByteView header, ByteView manifest) {
  Sha256Hasher hasher;
  hasher.raw(header.first(kDigestOffset));
  hasher.raw(manifest);
  return hasher.finish();
}

// Each image begins where the one before it and the alignment allow, so offsets follow from sizes: a table
// whose offsets say otherwise is damaged. nullopt when the sizes add up to more than a file can hold.
std::optional<std::uint64_t> lay_out(std::vector<BundleImage>& images, std::uint64_t manifest_bytes) {
  std::uint64_t end = kBundleHeaderBytes + manifest_bytes;
  for (BundleImage& image : images) {
    image.offset = aligned(end);
    if (image.size > kMaximumImageBytes || image.offset > kMaximumBundleBytes - image.size)
      return std::nullopt;
    end = image.offset + image.size;
  }
  return end;
}

Result<std::vector<BundleImage>> read_images(ByteReader& reader) {
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  std::vector<BundleImage> images;
  for (std::uint32_t i = 0; i < count; ++i) {
    BundleImage image;
    CUBINET_TRY_ASSIGN(image.digest, read_digest(reader));
    CUBINET_TRY_ASSIGN(image.offset, reader.u64());
    CUBINET_TRY_ASSIGN(image.size, reader.u64());
    if (!images.empty() && !(images.back().digest < image.digest))
      return damaged("its images are not in order");
    images.push_back(image);
  }
  return images;
}

Result<void> read_records(ByteReader& reader, BundleManifest& manifest) {
  CUBINET_TRY_ASSIGN(const std::uint32_t count, reader.u32());
  std::vector<bool> named(manifest.images.size(), false);
  for (std::uint32_t i = 0; i < count; ++i) {
    CUBINET_TRY_ASSIGN(const std::string bytes, reader.string());
    CUBINET_TRY_ASSIGN(CubinRecord record, decode_record(as_bytes(bytes)));
    if (record.origin != CubinOrigin::bundle || record.version != manifest.options.version) {
      return damaged("it holds the record of another bundle");
    }
    if (!manifest.records.empty() && !bundle_order(*manifest.records.back(), record)) {
      return damaged("its records are not in order");
    }
    const BundleImage* image = find_image(manifest.images, record.digest);
    if (image == nullptr || image->size != record.size)
      return damaged("a record names an image that is not in it");
    named[static_cast<std::size_t>(image - manifest.images.data())] = true;
    manifest.records.push_back(std::make_shared<const CubinRecord>(std::move(record)));
  }
  if (std::find(named.begin(), named.end(), false) != named.end())
    return damaged("no record names one of its images");
  return {};
}

}  // namespace

bool bundle_order(const CubinRecord& a, const CubinRecord& b) {
  return std::tie(a.identity.encoding(), a.fingerprint) < std::tie(b.identity.encoding(), b.fingerprint);
}

const BundleImage* find_image(const std::vector<BundleImage>& images, const Sha256Digest& digest) {
  const auto image =
      std::lower_bound(images.begin(), images.end(), digest,
                       [](const BundleImage& a, const Sha256Digest& b) { return a.digest < b; });
  return image != images.end() && image->digest == digest ? &*image : nullptr;
}

Bytes encode_bundle_head(BundleManifest& manifest) {
  // The numbers have fixed widths: the manifest's size is known before the offsets are.
  const std::uint64_t manifest_bytes = encode_manifest(manifest).size();
  manifest.file_bytes = lay_out(manifest.images, manifest_bytes).value_or(kMaximumBundleBytes + 1);
  manifest.head_bytes = kBundleHeaderBytes + manifest_bytes;
  const Bytes encoded = encode_manifest(manifest);
  ByteWriter writer;
  kBundleFormat.write_head(writer);
  writer.u16(0);
  writer.u64(manifest_bytes);
  writer.u64(manifest.file_bytes);
  writer.raw(digest_of(writer.bytes(), encoded).bytes);
  writer.raw(encoded);
  return writer.take();
}

Result<BundleHeader> decode_bundle_header(ByteView header) {
  ByteReader reader(header);
  if (header.size() < kBundleHeaderBytes) return damaged("it ends within its header");
  if (!kBundleFormat.begins(header)) return Error{ErrorCode::corruption, "this is no bundle"};
  CUBINET_TRY(kBundleFormat.read_head(reader));
  CUBINET_TRY_ASSIGN(const std::uint16_t zero, reader.u16());
  if (zero != 0) return damaged("its header makes no sense");
  BundleHeader decoded;
  CUBINET_TRY_ASSIGN(decoded.manifest_bytes, reader.u64());
  CUBINET_TRY_ASSIGN(decoded.file_bytes, reader.u64());
  if (decoded.manifest_bytes > kMaximumManifestBytes) return damaged("its manifest has an absurd length");
  return decoded;
}

Result<BundleManifest> decode_bundle_manifest(ByteView header, ByteView manifest) {
  CUBINET_TRY_ASSIGN(const BundleHeader decoded, decode_bundle_header(header));
  if (manifest.size() != decoded.manifest_bytes) return damaged("it ends within its manifest");
  const ByteView stated = header.subspan(kDigestOffset, sizeof(Sha256Digest::bytes));
  if (as_digest(stated) != digest_of(header, manifest))
    return damaged("its manifest does not match its checksum");
  BundleManifest result;
  ByteReader reader(manifest);
  CUBINET_TRY_ASSIGN(result.options.name, reader.string());
  CUBINET_TRY_ASSIGN(result.options.version, reader.u64());
  CUBINET_TRY_ASSIGN(result.images, read_images(reader));
  std::vector<BundleImage> expected = result.images;
  const auto file_bytes = lay_out(expected, decoded.manifest_bytes);
  const bool in_place =
      std::equal(expected.begin(), expected.end(), result.images.begin(),
                 [](const BundleImage& a, const BundleImage& b) { return a.offset == b.offset; });
  if (!file_bytes || *file_bytes != decoded.file_bytes || !in_place)
    return damaged("its images are not in place");
  result.head_bytes = kBundleHeaderBytes + decoded.manifest_bytes;
  result.file_bytes = *file_bytes;
  CUBINET_TRY(read_records(reader, result));
  if (reader.remaining() != 0) return damaged("its manifest has bytes after its end");
  return result;
}

}  // namespace cubinet
