// SPDX-License-Identifier: Apache-2.0
#include "published/argument_layout.hpp"

#include <doctest/doctest.h>

#include <set>

namespace cubinet {
namespace {

TEST_CASE("layouts are found by the name that a known header gives them, and no other") {
  REQUIRE(find_argument_layout("0.6.2") != nullptr);
  REQUIRE(find_argument_layout("0.6.13") != nullptr);
  CHECK(find_argument_layout("0.6.2")->bytes == 1152);
  CHECK(find_argument_layout("0.6.13")->bytes == 1280);
  REQUIRE(find_argument_layout("0.7.2") != nullptr);
  CHECK(find_argument_layout("0.7.2")->bytes == 1408);
  CHECK(find_argument_layout("0.4.0") == nullptr);
  CHECK(find_argument_layout("") == nullptr);
}

TEST_CASE("members lie within the argument, apart from one another, maps at multiples of 64 bytes") {
  for (const char* name : {"0.6.2", "0.6.13", "0.7.2"}) {
    const ArgumentLayout& layout = *find_argument_layout(name);
    std::set<std::uint16_t> offsets;
    for (std::size_t i = 0; i < kArgumentMembers; ++i) {
      const auto member = static_cast<ArgumentMember>(i);
      if (!layout.has(member)) continue;
      const std::uint16_t offset = layout.offset_of(member);
      CHECK(offset < layout.bytes);
      CHECK(offsets.insert(offset).second);
      if (member <= ArgumentMember::map_v_scales) CHECK(offset % 128 == 0);
    }
  }
}

TEST_CASE("what came with the later version is absent from the earlier one") {
  const ArgumentLayout& earlier = *find_argument_layout("0.6.2");
  CHECK_FALSE(earlier.has(ArgumentMember::kv_reshape));
  CHECK_FALSE(earlier.has(ArgumentMember::shares_page_table));
}

TEST_CASE("members of version 72 follow those of version 13 with three more between them") {
  const ArgumentLayout& earlier = *find_argument_layout("0.6.13");
  const ArgumentLayout& later = *find_argument_layout("0.7.2");
  CHECK(later.counts_tokens_of_cta);
  for (std::size_t i = 0; i < kArgumentMembers; ++i) {
    const auto member = static_cast<ArgumentMember>(i);
    const int moved = later.offset_of(member) - earlier.offset_of(member);
    // Two addresses come before the counters, and one 8-byte count after the batch.
    if (earlier.offset_of(member) < 976) CHECK(moved == 0);
    if (earlier.offset_of(member) >= 976 && earlier.offset_of(member) <= 1116) CHECK(moved == 16);
    if (earlier.offset_of(member) > 1116) CHECK((moved == 28 || moved == 32));
  }
}

}  // namespace
}  // namespace cubinet
