// SPDX-License-Identifier: Apache-2.0
#include "bundle/bundle_root.hpp"

#include "cubin_registry/bundle_fixture.hpp"
#include "support/counted.hpp"
#include "support/ok.hpp"
#include "support/sampled.hpp"

#include <functional>

namespace cubinet::test {
namespace {

BundleMap map_of(std::size_t pages) {
  BundleMap map;
  map.root.options = {"test", 7, 100, 200, BundleProfile::ship};
  map.root.targets = {"compute_80", "sm_90a"};
  map.root.toolchain = {"NVRTC 13.0", "libzstd 1.5.4"};
  map.root.records = 9;
  map.root.images = 8;
  map.root.image_bytes = 7000;
  for (std::size_t i = 0; i < pages; ++i)
    map.branches[i % kBundleTables].push_back({i * 10, static_cast<std::uint32_t>(100 + i), sha256({})});
  map.pages_bytes = 5000;
  map.dictionary_bytes = 33;
  map.tuning_bytes = 70;
  map.frames_bytes = 640;
  return map;
}

Bytes with_checksum(Bytes root, const std::function<void(Bytes&)>& change) {
  change(root);
  const Sha256Digest digest = sha256(ByteView(root).first(root.size() - 32));
  std::copy(digest.bytes.begin(), digest.bytes.end(), root.end() - 32);
  return root;
}

TEST_CASE("a root is read as it was written, and says where everything lies") {
  BundleMap map = map_of(6);
  Bytes bytes = encode_root(map);
  CHECK(bytes.size() % kBundleAlignment == 0);
  CHECK(map.root_bytes == bytes.size());
  bytes.resize(bytes.size() + 1000, std::byte{1});  // the pack
  const auto decoded = decode_root(bytes);
  REQUIRE_MESSAGE(decoded.has_value(), why_not(decoded));
  const BundleOptions& options = decoded->root.options;
  CHECK(options.channel == "test");
  CHECK(options.version == 7);
  CHECK(options.created == 100);
  CHECK(options.expires == 200);
  CHECK(options.profile == BundleProfile::ship);
  CHECK(decoded->root.targets == map.root.targets);
  CHECK(decoded->root.toolchain == map.root.toolchain);
  CHECK(decoded->root.records == 9);
  CHECK(decoded->branches_of(BundleTable::records).size() == 2);
  CHECK(decoded->branches_of(BundleTable::records)[1].offset == map.root_bytes + 100);
  CHECK(decoded->branches_of(BundleTable::names)[0].offset == map.root_bytes + 100 + 103 + 101 + 104);
  CHECK(decoded->pages_offset == map.root_bytes + 615);
  CHECK(decoded->dictionary_offset == map.root_bytes + 5615);
  CHECK(decoded->tuning_offset == decoded->dictionary_offset + 33);
  CHECK(decoded->frames_offset >= decoded->tuning_offset + 70);
  CHECK(decoded->frames_offset % kBundleAlignment == 0);
  CHECK(decoded->root.file_bytes == decoded->frames_offset + 640);
  CHECK(decoded->root.file_bytes == map.root.file_bytes);
}

TEST_CASE("every flipped bit and every truncation of a root is damage" * doctest::test_suite("loop")) {
  BundleMap map = map_of(4);
  const Bytes root = encode_root(map);
  std::size_t mutants = 0;
  for (const std::size_t i : test::sampled(root.size(), 1)) {
    for (const std::byte change : test::changes(i, 8)) {
      Bytes damaged = root;
      damaged[i] ^= change;
      REQUIRE_FALSE(decode_root(damaged).has_value());
      ++mutants;
    }
    REQUIRE_FALSE(decode_root(ByteView(root).first(i)).has_value());
    ++mutants;
  }
  test::counted(mutants, "mutants");
}

TEST_CASE("a newer version and an unknown profile are unsupported, with what to do about it") {
  BundleMap map = map_of(1);
  const Bytes root = encode_root(map);
  for (const std::size_t offset : {std::size_t{4}, std::size_t{6}}) {
    const auto decoded =
        decode_root(with_checksum(root, [&](Bytes& bytes) { bytes[offset] = std::byte{9}; }));
    CHECK(decoded.error().code == ErrorCode::unsupported);
    CHECK_FALSE(decoded.error().remedy.empty());
  }
  CHECK(decode_root(with_checksum(root, [](Bytes& bytes) { bytes[4] = std::byte{1}; })).error().code ==
        ErrorCode::corruption);
}

TEST_CASE("a root with a valid checksum and false contents is refused") {
  const auto refused = [](const std::function<void(BundleMap&)>& change) {
    BundleMap map = map_of(8);
    change(map);
    const auto decoded = decode_root(encode_root(map));
    return !decoded && decoded.error().code == ErrorCode::corruption;
  };
  CHECK_FALSE(refused([](BundleMap&) {}));
  CHECK(refused([](BundleMap& map) { std::swap(map.branches[0][0].first, map.branches[0][1].first); }));
  CHECK(refused([](BundleMap& map) { map.branches[2][0].stored = 0; }));
  CHECK(refused([](BundleMap& map) { map.branches[2][0].stored = kMaximumBranchBytes + 1; }));
  CHECK(refused([](BundleMap& map) { std::swap(map.root.targets[0], map.root.targets[1]); }));
  CHECK(refused([](BundleMap& map) { map.root.toolchain[1] = map.root.toolchain[0]; }));
  CHECK(refused([](BundleMap& map) { map.pages_bytes = UINT64_MAX; }));
  CHECK_FALSE(refused([](BundleMap& map) { map.root.image_bytes = kAnyImageBytes + 256 * 640; }));
  CHECK(refused([](BundleMap& map) { map.root.image_bytes = kAnyImageBytes + 256 * 641; }));
  CHECK(refused([](BundleMap& map) {
    map.dictionary_bytes = 0;
    map.dictionary = sha256({});
  }));
  CHECK(refused([](BundleMap& map) {
    map.tuning_bytes = 0;
    map.tuning = sha256({});
  }));
  CHECK(refused([](BundleMap& map) { map.root.options.profile = BundleProfile::plain; }));
  CHECK(refused([](BundleMap& map) { map.dictionary_bytes = kMaximumDictionaryBytes + 1; }));
  CHECK(refused([](BundleMap& map) { map.tuning_bytes = kMaximumTuningBytes + 1; }));
  CHECK(refused([](BundleMap& map) { map.frames_bytes = UINT64_MAX; }));
  CHECK(refused([](BundleMap& map) { map.frames_bytes = kMaximumBundleBytes; }));
  BundleMap map = map_of(1);
  const Bytes root = encode_root(map);
  CHECK_FALSE(
      decode_root(with_checksum(root, [](Bytes& bytes) { bytes[bytes.size() - 33] = std::byte{1}; })));
}

TEST_CASE("a root that states an absurd length is damaged before anything is read for it") {
  BundleMap map = map_of(1);
  const Bytes root = encode_root(map);
  for (const std::uint32_t length : {0U, 32U, 65U, 65536U + 64U, 0xffffffffU}) {
    Bytes damaged = root;
    for (std::size_t i = 0; i < 4; ++i)
      damaged[8 + i] = static_cast<std::byte>(length >> (8 * i));
    CHECK(decode_root(damaged).error().code == ErrorCode::corruption);
  }
}

}  // namespace
}  // namespace cubinet::test
