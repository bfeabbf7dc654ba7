// SPDX-License-Identifier: Apache-2.0
#include "bundle/frame_packer.hpp"

#include "bundle/zstd_frame.hpp"
#include "cubin_registry/bundle_fixture.hpp"

#include <map>

namespace cubinet::test {
namespace {

struct Packing {
  PackedFrames packed;
  Bytes frames;
};

Packing packed(BundleProfile profile, const std::vector<Cubin>& cubins) {
  std::map<Sha256Digest, std::shared_ptr<const Bytes>> content;
  std::vector<ImageToPack> images;
  for (const Cubin& cubin : cubins) {
    if (content.emplace(cubin.record->digest, cubin.image).second)
      images.push_back({cubin.record->digest, cubin.record});
  }
  Packing result;
  auto done = pack_frames(
      profile, std::move(images),
      [&](const std::shared_ptr<const CubinRecord>& record) -> Result<std::shared_ptr<const Bytes>> {
        return content.at(record->digest);
      },
      [&](ByteView frame) -> Result<void> {
        result.frames.insert(result.frames.end(), frame.begin(), frame.end());
        return {};
      });
  REQUIRE(done);
  result.packed = *std::move(done);
  return result;
}

void check_content(const Packing& packing, const std::vector<Cubin>& cubins) {
  const auto dictionary =
      packing.packed.dictionary.empty() ? nullptr : ZstdDictionary::of(packing.packed.dictionary);
  CHECK(packing.packed.bytes == packing.frames.size());
  for (const BundleImage& image : packing.packed.images) {
    const ByteView stored = ByteView(packing.frames).subspan(image.frame_offset, image.frame_stored);
    CHECK(sha256(stored) == image.frame_digest);
    const Bytes content = image.codec == FrameCodec::plain
                              ? Bytes(stored.begin(), stored.end())
                              : *unpack_zstd(stored, image.frame_bytes, dictionary.get());
    CHECK(sha256(ByteView(content).subspan(image.offset, image.size)) == image.digest);
  }
  CHECK(packing.packed.images.size() == cubins.size());
}

TEST_CASE("each image can be unpacked alone in ship, and with at most 15 others in archive") {
  const std::vector<Cubin> cubins = alike_cubins(40, 3000);
  const Packing ship = packed(BundleProfile::ship, cubins);
  check_content(ship, cubins);
  for (const BundleImage& image : ship.packed.images)
    CHECK(image.alone());
  const Packing archive = packed(BundleProfile::archive, cubins);
  check_content(archive, cubins);
  std::map<std::uint64_t, int> groups;
  for (const BundleImage& image : archive.packed.images)
    ++groups[image.frame_offset];
  CHECK(groups.size() == 3);
  CHECK(archive.frames.size() < ship.frames.size());
}

TEST_CASE("a dictionary is trained where there is much to pack, and the bytes are the same each time") {
  const std::vector<Cubin> few = alike_cubins(4, 3000);
  CHECK(packed(BundleProfile::ship, few).packed.dictionary.empty());
  const std::vector<Cubin> many = alike_cubins(160, 24000);
  const Packing first = packed(BundleProfile::ship, many);
  check_content(first, many);
  CHECK_FALSE(first.packed.dictionary.empty());
  CHECK(first.packed.dictionary.size() <= kMaximumDictionaryBytes);
  const Packing second = packed(BundleProfile::ship, {many.rbegin(), many.rend()});
  CHECK(first.packed.dictionary == second.packed.dictionary);
  CHECK(first.frames == second.frames);
}

TEST_CASE("what does not get smaller is stored as it is") {
  Bytes noise;
  for (int i = 0; noise.size() < 4000; ++i) {
    const Sha256Digest digest = sha256(as_bytes(std::to_string(i)));
    noise.insert(noise.end(), digest.bytes.begin(), digest.bytes.end());
  }
  auto record = std::make_shared<CubinRecord>(*cubin_of(1).record);
  record->digest = sha256(noise);
  record->size = noise.size();
  const std::vector<Cubin> cubins = {{record, std::make_shared<const Bytes>(noise)}};
  const Packing packing = packed(BundleProfile::ship, cubins);
  check_content(packing, cubins);
  CHECK(packing.packed.images.front().codec == FrameCodec::plain);
}

TEST_CASE("an image that cannot be read ends the packing") {
  const Cubin cubin = cubin_of(1);
  const auto done = pack_frames(
      BundleProfile::ship, {{cubin.record->digest, cubin.record}},
      [](const auto&) -> Result<std::shared_ptr<const Bytes>> {
        return Error{ErrorCode::io, "no disk"};
      },
      [](ByteView) -> Result<void> { return {}; });
  CHECK(done.error().message == "no disk");
}

}  // namespace
}  // namespace cubinet::test
