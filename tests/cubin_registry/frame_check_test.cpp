// SPDX-License-Identifier: Apache-2.0
#include "bundle/frame_check.hpp"

#include "cubin_registry/bundle_fixture.hpp"

#include <functional>

namespace cubinet::test {
namespace {

// Three images of ten bytes in one frame.
std::vector<BundleImage> group() {
  std::vector<BundleImage> images(3);
  for (std::size_t i = 0; i < images.size(); ++i) {
    images[i].digest = sha256(as_bytes(std::to_string(i)));
    images[i].frame_bytes = 30;
    images[i].frame_stored = 20;
    images[i].codec = FrameCodec::zstd;
    images[i].offset = static_cast<std::uint32_t>(10 * i);
    images[i].size = 10;
  }
  return images;
}

TEST_CASE("the images of a frame fill it side by side and agree on it") {
  const auto refused = [](const std::function<void(std::vector<BundleImage>&)>& change) {
    auto images = group();
    change(images);
    const auto checked = check_frame(images);
    return !checked && checked.error().code == ErrorCode::corruption;
  };
  CHECK_FALSE(refused([](auto&) {}));
  CHECK(refused([](auto& images) { images.pop_back(); }));
  CHECK(refused([](auto& images) { images.erase(images.begin() + 1); }));
  CHECK(refused([](auto& images) { images[1].offset = 9; }));
  CHECK(refused([](auto& images) { images[2].size = 9; }));
  CHECK(refused([](auto& images) { images[1].frame_bytes = 31; }));
  CHECK(refused([](auto& images) { images[1].frame_stored = 21; }));
  CHECK(refused([](auto& images) { images[1].frame_digest = images[1].digest; }));
  CHECK(refused([](auto& images) { images[1].codec = FrameCodec::plain; }));
  CHECK(refused([](auto& images) {
    images.assign(17, images.front());
    for (std::size_t i = 0; i < images.size(); ++i) {
      images[i].frame_bytes = 170;
      images[i].offset = static_cast<std::uint32_t>(10 * i);
    }
  }));
}

TEST_CASE("a frame is read if it and each of its images have their digests") {
  BundleFixture fixture;
  BundleOptions options{"test", 3};
  options.profile = BundleProfile::archive;
  fixture.create(alike_cubins(4, 3000), options);
  const auto bundle = fixture.open();
  std::vector<BundleImage> images = ok(bundle->pack().images());
  std::sort(images.begin(), images.end(),
            [](const BundleImage& a, const BundleImage& b) { return a.offset < b.offset; });
  REQUIRE(images.front().frame_offset == images.back().frame_offset);
  const auto stored = read_sound_frame(bundle->pack(), images);
  REQUIRE_MESSAGE(stored.has_value(), why_not(stored));
  CHECK(sha256(*stored) == images.front().frame_digest);
  std::swap(images[0].digest, images[1].digest);
  CHECK(read_sound_frame(bundle->pack(), images).error().message.find("has the wrong SHA-256") !=
        std::string::npos);
}

}  // namespace
}  // namespace cubinet::test
