// SPDX-License-Identifier: Apache-2.0
// Runs all warps of a CTA of attention_prefill_wgmma together on the host, at different speeds, and
// the writer and the readers of its tiles alone. lanes/ has the lanes of a warp and replaces the
// headers of the device library that have instructions.
#include "prefill_block.hpp"

#include <cubinet/attention_prefill_wgmma/tile_ring.cuh>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace cubinet;
using namespace cubinet::attention_prefill_wgmma;

namespace {

using Speeds = PrefillBlock::Speeds;

// Runs a CTA over all tiles of a batch and checks all rows.
void check(const BatchSizes& sizes, int page_size, bool is_ragged, const Speeds& speeds) {
  static unsigned seed = 3;
  const PrefillBatch batch(sizes);
  PrefillBlock block(batch, page_size, is_ragged, ++seed);
  REQUIRE(block.run(speeds) == "");
  CHECK(block.counters() == std::vector<std::int32_t>(2));
  CHECK(Products::all_complete());
  CHECK(wrong_rows(batch) == 0);
}

// The tiles of a batch of generation whose sequences have a step or a few.
BatchSizes generation() {
  BatchSizes sizes;
  sizes.q_lengths.assign(8, 16);
  sizes.kv_lengths = {16, 100, 20, 129, 40, 300, 17, 128};
  sizes.heads_q = sizes.tile_heads = 4;
  return sizes;
}

constexpr int kReaders = 4 * kConsumers + 3;  // warps

// Runs a writer and all readers of tiles, without copies and products. Reader 0 wants tiles. `read`
// is called with a reader's tiles, its index and the number of tiles that it has read before.
template <class Write, class Read>
void run_ring(const SharedLayout& layout, const std::vector<double>& speeds, Write write, Read read) {
  shared_memory.fill(std::byte{0xff});
  layout.init();
  std::vector<Warp::Task> warps = {{write, 2}};
  for (int reader = 0; reader < kReaders; ++reader)
    warps.push_back({[&, reader] {
                       TileReader tiles(layout);
                       for (int index = 0; tiles.next(); ++index)
                         read(tiles, reader, index);
                     },
                     static_cast<unsigned>(4 + reader),
                     speeds[static_cast<std::size_t>(reader) % speeds.size()]});
  REQUIRE(Warp::run_together(warps, 5) == "");
}

void spend_turns(int turns) {
  for (int i = 0; i < turns; ++i)
    __syncwarp();
}

}  // namespace

TEST_CASE("readers of tiles at very different speeds find each tile and the one before it") {
  const CountedBarriers barriers;
  const SharedLayout layout{0};
  constexpr int kTiles = 21;
  int written = 0;
  int wrong = 0;
  std::vector<int> lasts(kReaders);
  const auto write = [&] {
    TileWriter tiles(layout);
    for (int i = 0; i <= kTiles; ++i) {
      Tile tile = {};
      tile.sequence = i < kTiles ? i : -1;
      tiles.write(tile);
      written = i + 1;
      if (i < kTiles) tiles.wait();
    }
  };
  const auto read = [&](const TileReader& tiles, int reader, int index) {
    const auto check_tiles = [&] {
      if (tiles.tile().sequence != index) ++wrong;
      if (index > 0 && tiles.previous().sequence != index - 1) ++wrong;
    };
    check_tiles();
    spend_turns((reader + index) % 7);
    check_tiles();
    tiles.release();
    // No tile is written before it is wanted.
    if (reader == 0 && written != index + 1) ++wrong;
    if (reader == 0) tiles.want_next();
    spend_turns(index % 3);
    if (tiles.tile().sequence != index) ++wrong;
    lasts[static_cast<std::size_t>(reader)] = index;
  };
  for (const std::vector<double>& speeds :
       {std::vector<double>{1.0}, {1.0, 0.1, 0.4}, {0.1, 1.0, 1.0}, {1.0, 1.0, 1.0, 1.0, 1.0, 0.05}}) {
    run_ring(layout, speeds, write, read);
    CHECK(wrong == 0);
    CHECK(lasts == std::vector<int>(kReaders, kTiles - 1));
  }
}

TEST_CASE(
    "the tile after a short one is claimed beforehand only if no sequence may be longer than four steps") {
  BatchSizes sizes;
  sizes.q_lengths.assign(9, 16);
  sizes.kv_lengths = {16, 500, 100, 128, 412, 256, 385, 20, 30};
  sizes.heads_q = sizes.tile_heads = 4;
  const PrefillBatch batch(sizes);
  const CountedBarriers barriers;
  const SharedLayout layout{0};
  for (const int most_tokens : {512, 513}) {
    std::vector<std::int32_t> counters(2);
    kernel_templates::AttentionPrefillParameters p = batch.parameters();
    p.max_kv_length = most_tokens;
    p.counters = address_of(counters);
    int wrong = 0;
    int tiles_read = 0;
    run_ring(
        layout, {1.0}, [&] { find_tiles(p, layout); },
        [&](const TileReader& tiles, int reader, int index) {
          tiles.release();
          if (reader != 0) return;
          spend_turns(100);
          const bool is_claimed = kConsumers < 3 && tiles.tile().steps <= 2 && most_tokens == 512;
          if (threadIdx.x % 32 == 0 && counters[0] != index + (is_claimed ? 1 : 0)) ++wrong;
          __syncwarp();
          tiles.want_next();
          tiles_read = index + 1;
        });
    CHECK(wrong == 0);
    CHECK(tiles_read == 9);
    CHECK(counters == std::vector<std::int32_t>(2));
  }
}

TEST_CASE("the ring has the tiles of the schedule in its order, without splits that a tile does not need") {
  const CountedBarriers barriers;
  const SharedLayout layout{0};
  std::vector<BatchSizes> batches(6);
  batches[0].q_lengths = {1};
  batches[0].kv_lengths = {0};
  batches[1].q_lengths = {0, 0, 0};
  batches[1].kv_lengths = {5, 0, 500};
  batches[2].q_lengths = {0, 1, 0, 0, 200, 0, 129, 1, 0};
  batches[2].kv_lengths = {9, 0, 0, 700, 900, 1, 129, 1300, 4};
  batches[3].q_lengths.assign(100, 1);
  batches[3].kv_lengths.assign(100, 40);
  batches[4].q_lengths.assign(7, 20);
  batches[4].kv_lengths = {20, 1500, 0, 300, 21, 20, 640};
  batches[5].q_lengths.assign(9, 140);
  batches[5].kv_lengths.assign(9, 400);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const PrefillBatch batch(batches[i]);
    for (const int splits : {1, 3}) {
      for (const bool is_ragged : {true, false}) {
        if (!is_ragged && i != 0 && i < 3) continue;  // the numbers of query tokens differ
        std::vector<std::int32_t> counters(2);
        kernel_templates::AttentionPrefillParameters p = batch.parameters();
        if (!is_ragged) p.q_offsets = 0;
        p.splits = splits;
        p.split_tokens = splits == 1 ? 0 : 512;
        p.counters = address_of(counters);
        std::vector<Tile> expected;
        Warp::run([&] {
          Schedule schedule(p);
          for (int index = 0;; ++index) {
            const Tile tile = schedule.find(index);
            if (tile.sequence < 0) return;
            if (threadIdx.x == 0 && tile.steps > 0) expected.push_back(tile);
          }
        });
        int wrong = 0;
        std::vector<std::size_t> counts(kReaders);
        run_ring(
            layout, {1.0, 0.5}, [&] { find_tiles(p, layout); },
            [&](const TileReader& tiles, int reader, int index) {
              const Tile tile = tiles.tile();
              tiles.release();
              if (reader == 0) tiles.want_next();
              const auto at = static_cast<std::size_t>(index);
              if (at >= expected.size() || std::memcmp(&tile, &expected[at], sizeof(tile)) != 0) ++wrong;
              counts[static_cast<std::size_t>(reader)] = at + 1;
            });
        CHECK(wrong == 0);
        CHECK(counts == std::vector<std::size_t>(kReaders, expected.size()));
        CHECK(counters == std::vector<std::int32_t>(2));
      }
    }
  }
}

TEST_CASE("all warps of a CTA compute short tiles together, whichever of them are slow") {
  const BatchSizes sizes = generation();
  check(sizes, 16, false, {});
  check(sizes, 64, true, {0.2, 1.0, 1.0, 1.0, 1.0, 1.0});
  check(sizes, 8, false, {1.0, 0.2, 1.0, 1.0, 1.0, 1.0});
  check(sizes, 24, true, {1.0, 1.0, 0.2, 1.0, 1.0, 1.0});
  check(sizes, 256, false, {1.0, 1.0, 1.0, 0.2, 1.0, 1.0});
  check(sizes, 16, true, {1.0, 1.0, 1.0, 1.0, 1.0, 0.1});
}

TEST_CASE("all warps of a CTA compute prompts, decode rows and windows together") {
  BatchSizes sizes;
  sizes.q_lengths = {1, 140, 1, 0, 30, 1};
  sizes.kv_lengths = {300, 400, 1, 20, 30, 77};
  sizes.heads_q = 4;
  sizes.heads_kv = 2;
  check(sizes, 16, true, {});
  sizes.tile_heads = 2;
  sizes.window = 70;
  check(sizes, 64, true, {1.0, 0.2, 1.0, 1.0, 0.3, 1.0});
}
