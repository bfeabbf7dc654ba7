// SPDX-License-Identifier: Apache-2.0
#include <cubinet/selection/draft_mask.hpp>

#include <doctest/doctest.h>

#include <random>

namespace cubinet {
namespace {

TEST_CASE("the causal mask sees the row itself and what is before it") {
  const std::uint32_t lens[] = {1, 31, 32, 33, 70};
  const auto mask = causal_draft_mask(lens);
  REQUIRE(mask);
  CHECK(mask->words == 3);
  CHECK(mask->row_offsets.back() == 167);
  for (std::uint32_t s = 0; s < 5; ++s) {
    REQUIRE(mask->q_len(s) == lens[s]);
    for (std::uint32_t i = 0; i < lens[s]; ++i) {
      for (std::uint32_t j = 0; j < lens[s]; ++j)
        CHECK(mask->sees(s, i, j) == (j <= i));
    }
  }
}

TEST_CASE("bits lie where kernels read them") {
  const std::vector<std::vector<bool>> visible = {{true, false, true, true}};
  const auto mask = pack_draft_mask(visible);
  REQUIRE(mask);
  // Two rows of one 32-bit word, little-endian: row 0 sees token 0, row 1 sees both.
  CHECK(to_hex(mask->to_bytes()) == "0100000003000000");
  const std::uint32_t len[] = {40};
  const auto causal = causal_draft_mask(len);
  CHECK(causal->to_bytes().size() == 40 * 2 * 4);
  CHECK(causal->bits[78] == 0xffffffff);
  CHECK(causal->bits[79] == 0xff);
}

TEST_CASE("unpacking gives back what was packed, ragged sequences included, and padding is zero") {
  std::mt19937_64 random(13);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<bool>> visible;
    std::vector<std::uint32_t> lens;
    for (std::uint64_t s = 0; s < 1 + random() % 4; ++s) {
      lens.push_back(static_cast<std::uint32_t>(1 + random() % 70));
      visible.emplace_back(std::size_t{lens.back()} * lens.back());
      for (auto&& flag : visible.back())
        flag = random() % 2 == 0;
    }
    const auto mask = pack_draft_mask(visible);
    REQUIRE(mask);
    CHECK(unpack_draft_mask(*mask) == visible);
    const auto read = draft_mask_from_bytes(mask->to_bytes(), lens);
    REQUIRE(read);
    CHECK(read->bits == mask->bits);
  }
}

TEST_CASE("masks that are no squares, empty, too long or dirty are refused") {
  const std::vector<std::vector<bool>> no_square = {{true, false, true}};
  CHECK_FALSE(pack_draft_mask(no_square));
  const std::vector<std::vector<bool>> empty = {{}};
  CHECK_FALSE(pack_draft_mask(empty));
  const std::uint32_t too_long[] = {kMaximumDraftTokens + 1};
  CHECK_FALSE(causal_draft_mask(too_long));
  const std::uint32_t two[] = {2};
  CHECK_FALSE(draft_mask_from_bytes(*from_hex("01000000"), two));
  CHECK_FALSE(draft_mask_from_bytes(*from_hex("0100000007000000"), two));
  CHECK(draft_mask_from_bytes(*from_hex("0100000003000000"), two));
  CHECK(causal_draft_mask({})->sequences() == 0);
}

}  // namespace
}  // namespace cubinet
