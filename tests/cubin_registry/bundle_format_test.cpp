// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_format.hpp"

#include "cubin_registry/home_fixture.hpp"

#include <cubinet/base/sha256_hasher.hpp>

#include <algorithm>

namespace cubinet::test {
namespace {

BundleManifest manifest_of(int count) {
  BundleManifest manifest;
  manifest.options = {"test", 7};
  for (int i = 0; i < count; ++i) {
    auto record = std::make_shared<CubinRecord>(*cubin_of(i).record);
    record->origin = CubinOrigin::bundle;
    record->version = 7;
    manifest.images.push_back({record->digest, 0, record->size});
    manifest.records.push_back(record);
  }
  std::sort(manifest.images.begin(), manifest.images.end(),
            [](const BundleImage& a, const BundleImage& b) { return a.digest < b.digest; });
  std::sort(manifest.records.begin(), manifest.records.end(),
            [](const auto& a, const auto& b) { return bundle_order(*a, *b); });
  return manifest;
}

Result<BundleManifest> decode(ByteView head) {
  CUBINET_TRY_ASSIGN(const BundleHeader header, decode_bundle_header(head));
  const ByteView rest = head.subspan(kBundleHeaderBytes);
  if (rest.size() < header.manifest_bytes) return Error{ErrorCode::corruption, "short"};
  return decode_bundle_manifest(head.first(kBundleHeaderBytes),
                                rest.first(static_cast<std::size_t>(header.manifest_bytes)));
}

// The head with a manifest that is changed and then given a valid checksum, as somebody would who means to
// deceive.
Bytes forged(const Bytes& head, const std::function<void(Bytes&)>& change) {
  Bytes bytes = head;
  change(bytes);
  Sha256Hasher hasher;
  hasher.raw(ByteView(bytes).first(24));
  hasher.raw(ByteView(bytes).subspan(kBundleHeaderBytes));
  const Sha256Digest digest = hasher.finish();
  std::copy(digest.bytes.begin(), digest.bytes.end(), bytes.begin() + 24);
  return bytes;
}

TEST_CASE("a manifest is read as it was written, its images aligned and in a row") {
  for (const int count : {0, 1, 5}) {
    BundleManifest manifest = manifest_of(count);
    const Bytes head = encode_bundle_head(manifest);
    const auto decoded = decode(head);
    REQUIRE_MESSAGE(decoded.has_value(), decoded.error().message);
    CHECK(decoded->options.name == "test");
    CHECK(decoded->options.version == 7);
    REQUIRE(decoded->records.size() == static_cast<std::size_t>(count));
    CHECK(decoded->head_bytes == head.size());
    std::uint64_t end = head.size();
    for (const BundleImage& image : decoded->images) {
      CHECK(image.offset % kBundleAlignment == 0);
      CHECK(image.offset - end < kBundleAlignment);
      end = image.offset + image.size;
      CHECK(find_image(decoded->images, image.digest)->offset == image.offset);
    }
    CHECK(decoded->file_bytes == end);
  }
  CHECK(find_image(manifest_of(3).images, Sha256Digest{}) == nullptr);
}

TEST_CASE("every flipped bit and every truncation of header and manifest is damage" *
          doctest::test_suite("loop")) {
  BundleManifest manifest = manifest_of(2);
  const Bytes head = encode_bundle_head(manifest);
  for (std::size_t i = 0; i < head.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes damaged = head;
      damaged[i] ^= static_cast<std::byte>(1U << bit);
      REQUIRE_FALSE(decode(damaged).has_value());
    }
    REQUIRE_FALSE(decode(ByteView(head).first(i)).has_value());
  }
}

TEST_CASE("a newer version is unsupported, whatever follows") {
  BundleManifest manifest = manifest_of(1);
  Bytes head = encode_bundle_head(manifest);
  head[4] = std::byte{2};
  CHECK(decode(head).error().code == ErrorCode::unsupported);
}

TEST_CASE("a manifest with a valid checksum and false contents is refused") {
  BundleManifest good = manifest_of(3);
  const Bytes head = encode_bundle_head(good);
  REQUIRE(decode(forged(head, [](Bytes&) {})).has_value());
  constexpr std::size_t kImages = kBundleHeaderBytes + 4 + 4 + 8 + 4;
  // Every byte of the table of images: another digest, offset or size.
  for (std::size_t i = 0; i < 3 * 48; ++i) {
    REQUIRE_FALSE(
        decode(forged(head, [&](Bytes& bytes) { bytes[kImages + i] ^= std::byte{0x80}; })).has_value());
  }
  REQUIRE_FALSE(decode(forged(head, [](Bytes& bytes) { bytes[kImages - 4] = std::byte{2}; })).has_value());
  REQUIRE_FALSE(decode(forged(head, [](Bytes& bytes) { bytes[kImages - 1] = std::byte{0xff}; })).has_value());
  const auto refused = [](BundleManifest manifest) {
    const Bytes bytes = encode_bundle_head(manifest);
    return !decode(bytes).has_value();
  };
  BundleManifest disordered = manifest_of(3);
  std::swap(disordered.records[0], disordered.records[1]);
  CHECK(refused(disordered));
  BundleManifest twice = manifest_of(3);
  twice.records.push_back(twice.records.back());
  CHECK(refused(twice));
  BundleManifest unnamed = manifest_of(3);
  unnamed.records.pop_back();
  CHECK(refused(unnamed));
  BundleManifest lacking = manifest_of(3);
  lacking.images.pop_back();
  CHECK(refused(lacking));
  BundleManifest foreign = manifest_of(3);
  foreign.options.version = 8;
  CHECK(refused(foreign));
}

TEST_CASE("a header that states a manifest above the limit is damaged before anything is read for it") {
  BundleManifest manifest = manifest_of(1);
  Bytes header = encode_bundle_head(manifest);
  header.resize(kBundleHeaderBytes);
  const auto stating = [&](std::uint64_t manifest_bytes) {
    for (std::size_t i = 0; i < 8; ++i)
      header[8 + i] = static_cast<std::byte>(manifest_bytes >> (8 * i));
    return decode_bundle_header(header);
  };
  CHECK(stating(std::uint64_t{256} << 20));
  CHECK(stating((std::uint64_t{256} << 20) + 1).error().code == ErrorCode::corruption);
}

}  // namespace
}  // namespace cubinet::test
