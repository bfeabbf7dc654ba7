// SPDX-License-Identifier: Apache-2.0
#include "bundle/zstd_frame.hpp"

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

TEST_CASE("what was packed is unpacked to the length that it states, and to no other") {
  Bytes bytes(10000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i % 251);
  const Bytes packed = pack_zstd(bytes);
  CHECK(packed.size() < bytes.size());
  CHECK(*unpack_zstd(packed, bytes.size(), nullptr) == bytes);
  CHECK(*unpack_zstd_within(packed, bytes.size()) == bytes);
  CHECK(unpack_zstd(packed, bytes.size() - 1, nullptr).error().code == ErrorCode::corruption);
  CHECK(unpack_zstd_within(packed, bytes.size() - 1).error().code == ErrorCode::corruption);
  CHECK(unpack_zstd(ByteView(packed).first(packed.size() - 1), bytes.size(), nullptr).error().code ==
        ErrorCode::corruption);
  CHECK_FALSE(unpack_zstd({}, 0, nullptr));
  CHECK_FALSE(unpack_zstd_within(as_bytes("no frame of any kind"), 1000));
}

TEST_CASE("a dictionary helps to pack what resembles its samples, and is needed to unpack it") {
  Bytes samples;
  std::vector<std::size_t> sizes;
  const auto sample = [](unsigned number) {
    Bytes bytes;
    std::uint32_t state = 7;
    for (unsigned i = 0; i < 4000; ++i) {
      state = state * 1664525U + 1013904223U;
      bytes.push_back(i % 100 == number % 100 ? static_cast<std::byte>(number)
                                              : static_cast<std::byte>(state >> 24U));
    }
    return bytes;
  };
  for (unsigned i = 0; i < 100; ++i) {
    const Bytes bytes = sample(i);
    samples.insert(samples.end(), bytes.begin(), bytes.end());
    sizes.push_back(bytes.size());
  }
  const Bytes dictionary = train_dictionary(samples, sizes, 65536);
  REQUIRE_FALSE(dictionary.empty());
  CHECK(train_dictionary(samples, sizes, 65536) == dictionary);
  CHECK(train_dictionary({}, {}, 65536).empty());
  const ZstdPacker with(dictionary);
  const ZstdPacker without({});
  const Bytes bytes = sample(200);
  const Bytes packed = with.pack(bytes);
  CHECK(packed.size() < without.pack(bytes).size() / 2);
  CHECK(with.pack(bytes) == packed);
  CHECK(*unpack_zstd(packed, bytes.size(), ZstdDictionary::of(dictionary).get()) == bytes);
  CHECK_FALSE(unpack_zstd(packed, bytes.size(), nullptr));
}

TEST_CASE("an empty content is a frame too") {
  const Bytes packed = pack_zstd({});
  CHECK(unpack_zstd(packed, 0, nullptr)->empty());
}

}  // namespace
}  // namespace cubinet::test
