// SPDX-License-Identifier: Apache-2.0
// Runs the schedule of attention_prefill_wgmma on the host, with two and with three consumers.
// lanes/ has the lanes of a warp and replaces the headers of the device library that have
// instructions.
#include "prefill_sizes.hpp"

#include <cubinet/attention_prefill_wgmma/schedule.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <tuple>
#include <vector>

using namespace cubinet;
using attention_prefill_wgmma::Schedule;
using attention_prefill_wgmma::Tile;
using kernel_templates::AttentionPrefillParameters;

namespace {

struct Batch {
  std::vector<std::int32_t> q_lengths;
  std::vector<std::int32_t> kv_lengths;
  int heads_q = 4;
  int heads_kv = 1;
  int tile_heads = 4;
  int splits = 1;
  int split_tokens = 0;
};

// Returns the tiles of a CTA whose indices are 0 and then `step` more each time. With `is_ragged`
// false, the schedule gets no offsets of query tokens.
std::vector<Tile> tiles_of(const Batch& batch, int step = 1, bool is_ragged = true) {
  const std::vector<std::int32_t> offsets = offsets_of(batch.q_lengths);
  AttentionPrefillParameters p{};
  set_sizes(p, batch, offsets);
  if (!is_ragged) p.q_offsets = 0;
  p.window = 1 << 30;
  p.splits = batch.splits;
  p.split_tokens = batch.split_tokens;
  std::vector<Tile> tiles;
  Warp::run([&] {
    Schedule schedule(p);
    for (int index = 0;; index += step) {
      const Tile tile = schedule.find(index);
      if (tile.sequence < 0) return;
      if (threadIdx.x == 0) tiles.push_back(tile);
    }
  });
  return tiles;
}

using Name = std::tuple<int, int, int, int>;  // sequence, first token, first head, first step

Name name_of(const Tile& tile) {
  return {tile.sequence, tile.q_token, tile.head, tile.first_step};
}

int tokens_of_tile(const Batch& batch) {
  return parameters::tile_size_q / batch.tile_heads;
}

// Checks that the tiles are those of all tokens and heads, each once.
void check_complete(const Batch& batch) {
  std::set<Name> expected;
  std::size_t empty = 0;
  for (std::size_t i = 0; i < batch.q_lengths.size(); ++i) {
    for (int token = 0; token < batch.q_lengths[i]; token += tokens_of_tile(batch)) {
      const int end = std::clamp(batch.kv_lengths[i] - batch.q_lengths[i] + token + tokens_of_tile(batch), 1,
                                 std::max(batch.kv_lengths[i], 1));
      for (int head = 0; head < batch.heads_q; head += batch.tile_heads) {
        for (int split = 0; split < batch.splits; ++split) {
          if (split * batch.split_tokens < end) {
            expected.insert({static_cast<int>(i), token, head, split * batch.split_tokens / 128});
          } else {
            ++empty;
          }
        }
      }
    }
  }
  const std::vector<Tile> tiles = tiles_of(batch);
  std::set<Name> found;
  for (const Tile& tile : tiles) {
    if (tile.steps == 0) {
      --empty;
      continue;
    }
    CHECK(found.insert(name_of(tile)).second);
    CHECK(tile.q_len == batch.q_lengths[static_cast<std::size_t>(tile.sequence)]);
    CHECK(tile.kv_len == batch.kv_lengths[static_cast<std::size_t>(tile.sequence)]);
  }
  CHECK(found == expected);
  CHECK(empty == 0);
  // A CTA that takes every third tile finds the same ones.
  const std::vector<Tile> thirds = tiles_of(batch, 3);
  REQUIRE(thirds.size() == (tiles.size() + 2) / 3);
  for (std::size_t i = 0; i < thirds.size(); ++i)
    CHECK(name_of(thirds[i]) == name_of(tiles[3 * i]));
}

// Returns a chunk of 512 tokens after 8192, and 64 sequences with one new token.
Batch mixed() {
  Batch batch;
  batch.q_lengths.assign(65, 1);
  batch.kv_lengths.assign(65, 8192);
  batch.q_lengths[40] = 512;
  batch.kv_lengths[40] = 8192 + 512;
  return batch;
}

}  // namespace

TEST_CASE("a schedule of prefill has each tile of a mixed batch once") {
  check_complete(mixed());
  Batch heads = mixed();
  heads.heads_q = 8;
  heads.heads_kv = 2;
  check_complete(heads);
  Batch apart = mixed();
  apart.tile_heads = 1;
  check_complete(apart);
  Batch split = mixed();
  split.splits = 3;
  split.split_tokens = 3072;
  check_complete(split);
}

TEST_CASE("a schedule of prefill has each tile of batches with one kind of sequences once") {
  Batch decode;
  decode.q_lengths.assign(70, 1);
  decode.kv_lengths.assign(70, 300);
  decode.q_lengths[3] = decode.q_lengths[69] = 0;
  check_complete(decode);
  check_complete({{500}, {500}, 2, 2, 1});
  check_complete({{0, 0, 0}, {5, 0, 7}});
  check_complete({{32, 33, 0, 31, 64, 65}, {32, 33, 10, 0, 70, 65}});
}

TEST_CASE("a schedule of prefill has each tile of random batches once, also in sections of KV") {
  std::mt19937 dice(35);
  const auto below = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(dice); };
  for (int i = 0; i < 6; ++i) {
    Batch batch;
    batch.heads_kv = 1 + below(3);
    batch.heads_q = batch.heads_kv * 4;
    batch.tile_heads = below(2) == 0 ? 4 : 1;
    const int sequences = 1 + below(80);
    for (int sequence = 0; sequence < sequences; ++sequence) {
      batch.q_lengths.push_back(below(3) == 0 ? below(200) : below(3));
      batch.kv_lengths.push_back(batch.q_lengths.back() + (i % 2 == 0 ? below(2000) : below(1 << 17)));
    }
    batch.q_lengths.front() = std::max(batch.q_lengths.front(), 1);
    check_complete(batch);
  }
}

TEST_CASE("a schedule of sequences with as many query tokens has the same order with and without offsets") {
  std::mt19937 dice(49);
  const auto below = [&](int end) { return std::uniform_int_distribution<int>(0, end - 1)(dice); };
  for (const int q_len : {1, 16, 32, 33, 48, 49, 70, 400}) {
    for (const int most_tokens : {300, 1 << 14, 1 << 17}) {  // KV fits the L2 cache, or does not
      Batch batch;
      batch.heads_kv = 1 + below(5);
      batch.heads_q = batch.heads_kv * 4;
      batch.tile_heads = below(2) == 0 ? 4 : 1;
      batch.splits = 1 + below(3);
      batch.split_tokens = batch.splits == 1 ? 0 : divide_up(q_len + most_tokens, batch.splits * 128) * 128;
      batch.q_lengths.assign(static_cast<std::size_t>(1 + below(70)), q_len);
      for (std::size_t i = 0; i < batch.q_lengths.size(); ++i)
        batch.kv_lengths.push_back(q_len + below(most_tokens));
      const std::vector<Tile> ragged = tiles_of(batch);
      const std::vector<Tile> uniform = tiles_of(batch, 1, false);
      REQUIRE(uniform.size() == ragged.size());
      for (std::size_t i = 0; i < ragged.size(); ++i)
        CHECK(std::memcmp(&uniform[i], &ragged[i], sizeof(Tile)) == 0);
      const std::vector<Tile> sevenths = tiles_of(batch, 7, false);
      REQUIRE(sevenths.size() == (uniform.size() + 6) / 7);
      for (std::size_t i = 0; i < sevenths.size(); ++i)
        CHECK(name_of(sevenths[i]) == name_of(uniform[7 * i]));
      CHECK(uniform.size() == batch.q_lengths.size() * static_cast<std::size_t>(batch.splits) *
                                  static_cast<std::size_t>(divide_up(q_len, tokens_of_tile(batch)) *
                                                           (batch.heads_q / batch.tile_heads)));
    }
  }
}

TEST_CASE("tiles of decode are spread evenly among those of a chunk, whose order stays") {
  const std::vector<Tile> tiles = tiles_of(mixed());
  const int tokens = tokens_of_tile(mixed());
  const int of_chunk = divide_up(512, tokens);
  REQUIRE(tiles.size() == static_cast<std::size_t>(64 + of_chunk));
  int decodes = 0;
  int level = of_chunk;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (tiles[i].q_len == 1) {
      ++decodes;
    } else {
      CHECK(tiles[i].q_token == --level * tokens);
    }
    CHECK(decodes >= static_cast<int>(i + 1) * 64 / (64 + of_chunk));
    CHECK(decodes <= static_cast<int>(i + 1) * 64 / (64 + of_chunk) + 1);
  }
}

TEST_CASE("the last tiles of a million are found, although the share of decode tiles is rounded") {
  for (const bool has_chunk : {false, true}) {
    Batch batch;
    batch.q_lengths.assign(70'000, 1);
    batch.kv_lengths.assign(70'000, 8192);
    batch.q_lengths.front() = has_chunk ? tokens_of_tile(batch) + 1 : 1;
    batch.heads_q = 64;
    batch.heads_kv = 16;
    const int last = 70'000 * 16 + (has_chunk ? 16 : 0) - 1;
    const std::vector<Tile> tiles = tiles_of(batch, last);
    REQUIRE(tiles.size() == 2);
    CHECK(tiles[1].sequence == 69'999);
    CHECK(tiles[1].head == 60);
  }
}
