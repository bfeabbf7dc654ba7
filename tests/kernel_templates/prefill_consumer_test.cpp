// SPDX-License-Identifier: Apache-2.0
// Runs the consumer warps of attention_prefill_wgmma on the host. lanes/ has the lanes of a warp
// and replaces the headers of the device library that have instructions. CMakeLists.txt compiles
// this file for kernels with invariant numerics and one with fast numerics.
#include "arithmetic_page.hpp"
#include "exact_row.hpp"
#include "prefill_producer.hpp"

#include <cubinet/attention_prefill_wgmma/consumer.cuh>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

using namespace cubinet;
using namespace cubinet::attention_prefill_wgmma;

namespace {

constexpr int kWarps = kConsumers * 4;

// Returns the warp of the consumers that has a row.
int warp_of(const BatchSizes& sizes, int token, int head) {
  const int tile_tokens = tile_size_q / sizes.tile_heads;
  return (token % tile_tokens * sizes.tile_heads + head % sizes.tile_heads) / 16;
}

// Returns whether a stored row is that of the page, bit for bit, or with fast numerics close to the
// exact one.
bool is_right(const PrefillBatch& batch, int sequence, int token, int head) {
  const std::size_t row = batch.output_row(sequence, token, head);
  const std::uint16_t* const output = &batch.output[row * head_dim_v];
  if constexpr (kInvariant) {
    const ExpectedRow expected = ArithmeticPage(batch, sequence, token, head).row();
    return std::memcmp(output, expected.output.data(), head_dim_v * sizeof(*output)) == 0 &&
           std::bit_cast<std::uint32_t>(batch.lse[row]) == std::bit_cast<std::uint32_t>(expected.lse);
  } else {
    return ExactRow(batch, sequence, token, head).is_close(output, batch.lse[row]);
  }
}

// Runs the warps over all tiles of a batch, with products that are computed late or at once. Checks
// the rows that they have to store, and that all other rows remain as they are.
void check(const BatchSizes& sizes, const std::vector<int>& warps) {
  for (const bool late : {true, false}) {
    CAPTURE(late);
    Products::late = late;
    PrefillBatch batch(sizes);
    for (const int warp : warps) {
      PrefillProducer producer(batch, warp / 4);
      Warp::run([&] { Consumer(batch.parameters(), producer.layout(), warp / 4).run(); },
                static_cast<unsigned>(4 + warp));
      CHECK(producer.is_complete());
      CHECK(Products::all_complete());
    }
    int stored = 0;
    int wrong = 0;
    for (int sequence = 0; sequence < batch.sequences(); ++sequence) {
      for (int token = 0; token < batch.q_len(sequence); ++token) {
        for (int head = 0; head < sizes.heads_q; ++head) {
          if (std::count(warps.begin(), warps.end(), warp_of(sizes, token, head)) != 0) {
            ++stored;
            if (!is_right(batch, sequence, token, head)) ++wrong;
          } else if (!batch.is_untouched(sequence, token, head)) {
            ++wrong;
          }
        }
      }
    }
    CHECK(stored > 0);
    CHECK(wrong == 0);
  }
}

std::vector<int> all_warps() {
  std::vector<int> warps(kWarps);
  std::iota(warps.begin(), warps.end(), 0);
  return warps;
}

}  // namespace

TEST_CASE("a consumer computes rows that see several segments") {
  BatchSizes sizes;
  sizes.q_lengths = {tile_size_q};
  sizes.kv_lengths = {1580};  // the tile ends in the first half of a step
  check(sizes, {0, 5});
  sizes.kv_lengths = {1100};  // and in the second half
  check(sizes, {3, kWarps - 1});
}

TEST_CASE("a consumer computes tiles after each other, whose number of steps is odd or even") {
  BatchSizes sizes;
  sizes.q_lengths = {3 * tile_size_q + 10};
  sizes.kv_lengths = {3 * tile_size_q + 10};
  check(sizes, {1, kWarps - 1});
}

TEST_CASE("a consumer computes prompts of all lengths up to two steps, in all of its warps") {
  BatchSizes sizes;
  sizes.q_lengths = {1, 63, 64, 65, 2, 5};
  sizes.kv_lengths = {1, 63, 64, 65, 191, 193};
  sizes.heads_q = sizes.tile_heads = 2;
  check(sizes, all_warps());
}

TEST_CASE("a consumer without rows releases what the others compute") {
  BatchSizes sizes;
  sizes.q_lengths = {1, tile_size_q, 3, 4};
  sizes.kv_lengths = {700, 700, 100, 300};
  check(sizes, {0, kWarps - 1});
}

TEST_CASE("a consumer begins with the step in which a window begins") {
  BatchSizes sizes;
  sizes.q_lengths = {tile_size_q, 20, tile_size_q};
  sizes.kv_lengths = {1300, 900, 600};
  sizes.window = 70;  // less than a step
  check(sizes, {0, 4});
  sizes.window = 330;  // of two segments
  check(sizes, {1, 6});
}

TEST_CASE("a consumer adds the sinks of heads that share a tile, also if they do not divide its rows") {
  BatchSizes sizes;
  sizes.q_lengths = {50, 9};
  sizes.kv_lengths = {580, 40};
  sizes.heads_q = 6;
  sizes.heads_kv = 2;
  sizes.tile_heads = 3;
  sizes.has_sinks = true;
  check(sizes, {0, 4, 7});
}

TEST_CASE("rows that see no token are zero") {
  BatchSizes sizes;
  sizes.q_lengths = {140, 3, 2};
  sizes.kv_lengths = {130, 0, 2};
  check(sizes, {0, 1});
  sizes.has_sinks = true;
  check(sizes, {0, 1});
}

TEST_CASE("a consumer computes random batches") {
  std::mt19937 dice(11);
  const auto below = [&](unsigned end) { return static_cast<int>(dice() % end); };
  for (int i = 0; i < 3; ++i) {
    BatchSizes sizes;
    for (int sequence = 1 + below(4); sequence > 0; --sequence) {
      sizes.q_lengths.push_back(1 + below(150));
      sizes.kv_lengths.push_back(below(900));
    }
    sizes.heads_kv = 1 + below(2);
    sizes.tile_heads = 1 + below(2);
    sizes.heads_q = sizes.heads_kv * 2;
    if (below(2) == 0) sizes.window = 1 + below(600);
    sizes.has_sinks = below(2) == 0;
    check(sizes, {below(4), 4 + below(kWarps - 4)});
  }
}
