// SPDX-License-Identifier: Apache-2.0
// Runs all warps of clusters of attention_prefill_wgmma together on the host, at different speeds.
// lanes/ has the lanes of a warp and replaces the headers of the device library that have
// instructions.
#include "prefill_block.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

using namespace cubinet;

namespace {

using Speeds = PrefillBlock::Speeds;

// Runs clusters over all tiles of a batch and checks all rows.
void check(const BatchSizes& sizes, int page_size, const Speeds& speeds, unsigned clusters = 1) {
  static unsigned seed = 3;
  const PrefillBatch batch(sizes);
  const bool is_ragged = ++seed % 2 == 0;
  Products::late = seed % 3 == 0;
  CAPTURE(seed);
  PrefillBlock blocks(batch, page_size, is_ragged, seed, clusters);
  REQUIRE(blocks.run(speeds) == "");
  CHECK(blocks.counters() == std::vector<std::int32_t>(2));
  CHECK(blocks.surplus() == 0);
  CHECK(Products::all_complete());
  CHECK(wrong_rows(batch) == 0);
}

// Prompts over a prefix. The last tile of a cluster has rows of the first CTA alone.
BatchSizes prompts(std::int32_t q_len, const std::vector<std::int32_t>& kv_lengths) {
  BatchSizes sizes;
  sizes.q_lengths.assign(kv_lengths.size(), q_len);
  sizes.kv_lengths = kv_lengths;
  sizes.heads_q = 2;
  sizes.heads_kv = 1;
  return sizes;
}

const std::vector<Speeds> kSpeeds = {
    {},
    {0.1, 1.0, 1.0, 1.0, 1.0, 1.0},
    {1.0, 0.1, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 0.1, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 0.1, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 0.2, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, 0.05},
};

}  // namespace

TEST_CASE("CTAs of a cluster compute adjacent tiles of prompts, whichever of their warps are slow") {
  BatchSizes sizes = prompts(300, {300, 420});
  sizes.heads_q = 1;
  for (const Speeds& speeds : kSpeeds)
    check(sizes, 16, speeds);
}

TEST_CASE("clusters take tiles from each other") {
  BatchSizes sizes = prompts(260, {260, 700, 261});
  sizes.heads_q = sizes.heads_kv = 2;
  check(sizes, 64, {}, 2);
  check(sizes, 128, kSpeeds[1], 2);
  check(sizes, 256, kSpeeds[3], 2);
  check(sizes, 8, kSpeeds[6], 2);
}

TEST_CASE("tiles of a cluster may have two heads, windows, and rows that see no token") {
  BatchSizes sizes = prompts(200, {520, 90});
  sizes.tile_heads = 2;
  check(sizes, 16, {});
  sizes.window = 70;
  check(sizes, 64, kSpeeds[2]);
  sizes.has_sinks = true;
  sizes.tile_heads = 1;
  check(sizes, 16, kSpeeds[4], 2);
}

TEST_CASE("tiles of a cluster hold whole query tokens, if their heads are no divisor of the rows") {
  BatchSizes sizes = prompts(60, {300, 60});
  for (const int heads : {3, 5}) {
    sizes.heads_q = sizes.tile_heads = heads;
    check(sizes, 16, {}, 2);
  }
}

TEST_CASE("clusters compute random prompts") {
  std::mt19937 dice(5);
  const auto below = [&](unsigned end) { return static_cast<int>(dice() % end); };
  for (int i = 0; i < 4; ++i) {
    const int q_len = 1 + below(330);
    std::vector<std::int32_t> kv_lengths;
    for (int sequence = 1 + below(3); sequence > 0; --sequence)
      kv_lengths.push_back(below(4) == 0 ? below(400) : q_len + below(300));
    BatchSizes sizes = prompts(q_len, kv_lengths);
    sizes.tile_heads = 1 + below(2);
    if (below(3) == 0) sizes.window = 1 + below(200);
    check(sizes, 8 << below(6), kSpeeds[static_cast<std::size_t>(below(7))],
          1 + static_cast<unsigned>(below(2)));
  }
}
