// SPDX-License-Identifier: Apache-2.0
#include "bundle/dictionary_content.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cubinet::test {
namespace {

constexpr std::size_t kPart = 2048;

// Returns bytes that resemble only the bytes of the same seed.
Bytes part(std::uint32_t seed) {
  Bytes bytes;
  for (std::size_t i = 0; i < kPart; ++i) {
    seed = seed * 1664525U + 1013904223U;
    bytes.push_back(static_cast<std::byte>(seed >> 24U));
  }
  return bytes;
}

struct Samples {
  Bytes bytes;
  std::vector<std::size_t> sizes;

  void add(const std::vector<std::uint32_t>& seeds) {
    const std::size_t before = bytes.size();
    for (const std::uint32_t seed : seeds) {
      const Bytes more = part(seed);
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    sizes.push_back(bytes.size() - before);
  }
  Bytes chosen(std::size_t parts) const { return choose_dictionary_content(bytes, sizes, parts * kPart); }
};

bool holds(const Bytes& content, std::uint32_t seed) {
  const Bytes wanted = part(seed);
  return std::search(content.begin(), content.end(), wanted.begin(), wanted.end()) != content.end();
}

TEST_CASE("what most samples have is chosen first, and each part once") {
  Samples samples;
  for (std::uint32_t i = 0; i < 12; ++i)
    samples.add({i < 4 ? 1U : 100 + i, i < 8 ? 2U : 200 + i, 3U});
  const Bytes one = samples.chosen(1);
  CHECK(one.size() == kPart);
  CHECK(holds(one, 3));
  const Bytes two = samples.chosen(2);
  CHECK(two.size() == 2 * kPart);
  CHECK(holds(two, 3));
  CHECK(holds(two, 2));
  const Bytes all = samples.chosen(100);
  CHECK(all.size() == 3 * kPart);
  CHECK(holds(all, 1));
  CHECK(samples.chosen(100) == all);
}

TEST_CASE("what one sample alone repeats is not chosen") {
  Samples samples;
  samples.add({7, 7, 7, 7, 7, 1});
  samples.add({8, 8, 8, 8, 8, 1});
  const Bytes chosen = samples.chosen(100);
  CHECK(chosen == part(1));
}

TEST_CASE("there is nothing to choose where no other sample has the same, and the end of one may be") {
  Samples samples;
  CHECK(samples.chosen(10).empty());
  samples.add({1, 2});
  CHECK(samples.chosen(10).empty());
  samples.add({3, 2});
  samples.bytes.resize(samples.bytes.size() - 100);
  samples.sizes.back() -= 100;
  CHECK(samples.chosen(1) == part(2));
  CHECK(choose_dictionary_content(samples.bytes, samples.sizes, kPart - 100).size() == kPart - 100);
}

}  // namespace
}  // namespace cubinet::test
