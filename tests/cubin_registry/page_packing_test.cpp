// SPDX-License-Identifier: Apache-2.0
#include "bundle/page_packing.hpp"

#include "bundle/zstd_frame.hpp"

#include <doctest/doctest.h>

namespace cubinet::test {
namespace {

// Bytes of which every `step`-th is random.
Bytes page_of(std::size_t size, std::size_t step) {
  Bytes page(size);
  page[0] = std::byte{1};  // as the number of its records
  std::uint32_t state = 1;
  for (std::size_t i = 4; i < size; i += step) {
    state = state * 1664525U + 1013904223U;
    page[i] = static_cast<std::byte>(state >> 24U);
  }
  return page;
}

TEST_CASE("a page is packed, unless that leaves less than a sixteenth of it") {
  const Bytes ordinary = page_of(8192, 4);
  CHECK(pack_page(ordinary) == pack_zstd(ordinary));
  CHECK(*unpack_page(pack_page(ordinary)) == ordinary);
  const Bytes repetitive = page_of(8192, 8000);
  CHECK(pack_page(repetitive) == repetitive);
  CHECK(*unpack_page(repetitive) == repetitive);
}

TEST_CASE("what is packed to less than a sixteenth, or is no whole frame, is damaged") {
  CHECK(unpack_page(pack_zstd(page_of(8192, 8000))).error().code == ErrorCode::corruption);
  Bytes two_frames = pack_zstd(page_of(8192, 4));
  const Bytes second = pack_zstd({});
  two_frames.insert(two_frames.end(), second.begin(), second.end());
  CHECK(unpack_page(two_frames).error().code == ErrorCode::corruption);
}

}  // namespace
}  // namespace cubinet::test
