// SPDX-License-Identifier: Apache-2.0
// Runs all warps of attention_latent together on the host, at different speeds. lanes/ has the
// lanes of a warp and replaces the headers of the device library that have instructions.
// CMakeLists.txt compiles this file for several kernels.
#include "exact_row.hpp"
#include "latent_blocks.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace cubinet;

namespace {

using Speeds = LatentBlocks::Speeds;

// Returns the exact rows of a batch in the order of its output.
std::vector<ExactRow> exact_rows(const LatentSizes& sizes) {
  const LatentBatch batch(sizes);
  std::vector<ExactRow> rows;
  for (int sequence = 0; sequence < batch.sequences(); ++sequence)
    for (int token = 0; token < batch.q_len(sequence); ++token)
      for (int head = 0; head < sizes.heads; ++head)
        rows.emplace_back(batch, sequence, token, head);
  return rows;
}

// Runs the kernel and checks all rows.
void check(const LatentSizes& sizes, const std::vector<ExactRow>& expected, const Speeds& speeds = {}) {
  static unsigned seed = 3;
  const LatentBatch batch(sizes);
  Products::late = ++seed % 2 == 0;
  CAPTURE(seed);
  LatentBlocks blocks(batch, seed);
  REQUIRE(blocks.run(speeds) == "");
  CHECK(batch.counters_are_zero());
  REQUIRE(batch.lse.size() == expected.size());
  int wrong = 0;
  for (std::size_t row = 0; row < expected.size(); ++row)
    if (!expected[row].is_close(&batch.output[row * LatentBatch::kColumnsV], batch.lse[row])) ++wrong;
  CHECK(wrong == 0);
}
void check(const LatentSizes& sizes, const Speeds& speeds = {}) {
  check(sizes, exact_rows(sizes), speeds);
}

using attention_latent::kClusterSize;
using attention_latent::tile_size_q;

// Query heads whose rows fill all tiles of a cluster with one query token.
constexpr int kHeads = tile_size_q * kClusterSize;

// Each of them slows a part of the kernel.
const std::vector<Speeds> kSpeeds = {
    {},
    {0.1, 1.0, 1.0, 1.0, 1.0, 2.0},
    {1.0, 1.0, 0.1, 1.0, 1.0, 20.0},
    {1.0, 1.0, 1.0, 0.1, 1.0, 20.0},
    {1.0, 1.0, 1.0, 1.0, 0.1, 2.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, 0.1},
    {1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 0.001},
};

// Returns sizes with one CTA or cluster for each sequence of one query token.
LatentSizes one_item_each(const std::vector<std::int32_t>& kv_lengths) {
  LatentSizes sizes;
  sizes.kv_lengths = kv_lengths;
  sizes.heads = kHeads;
  sizes.blocks = static_cast<int>(kv_lengths.size()) * kClusterSize;
  sizes.unit = 1024;
  return sizes;
}

}  // namespace

TEST_CASE("a CTA of latent attention computes one sequence, whose last slice may be partial") {
  for (const int length : {0, 1, 63, 64, 65, 127, 128, 129, 200}) {
    CAPTURE(length);
    check(one_item_each({length}));
  }
}

TEST_CASE("a CTA of latent attention computes several tiles one after the other") {
  LatentSizes sizes = one_item_each({64, 129, 0, 65});
  sizes.blocks = 2 * kClusterSize;
  sizes.has_sinks = true;
  const std::vector<ExactRow> expected = exact_rows(sizes);
  for (const Speeds& speeds : kSpeeds)
    check(sizes, expected, speeds);
}

TEST_CASE("warps of latent attention may be far behind the others in a long sequence") {
  const LatentSizes sizes = one_item_each({700});
  const std::vector<ExactRow> expected = exact_rows(sizes);
  check(sizes, expected, {1.0, 0.004, 1.0, 1.0, 1.0, 10.0});
  check(sizes, expected, {1.0, 1.0, 1.0, 1.0, 1.0, 10.0, 0.002});
}

TEST_CASE("CTAs of latent attention share tiles with one or more others") {
  LatentSizes sizes = one_item_each({1, 321, 130, 0, 64});
  const std::vector<ExactRow> expected = exact_rows(sizes);
  for (const int clusters : {2, 3, 7}) {
    sizes.unit = clusters == 3 ? 128 : 64;
    sizes.blocks = clusters * kClusterSize;
    check(sizes, expected, kSpeeds[static_cast<std::size_t>(clusters) % kSpeeds.size()]);
  }
}

TEST_CASE("CTAs of latent attention complete a tile together") {
  LatentSizes sizes = one_item_each({128});
  sizes.unit = 64;
  sizes.blocks = 2 * kClusterSize;
  const std::vector<ExactRow> expected = exact_rows(sizes);
  for (int i = 0; i < (kClusterSize == 1 ? 24 : 6); ++i)
    check(sizes, expected, {1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 0.004});
}

TEST_CASE("each unit of latent attention is a split of its own") {
  LatentSizes sizes = one_item_each({200, 64, 0, 300});
  sizes.unit = 128;
  sizes.split_is_unit = true;
  sizes.blocks = 3 * kClusterSize;
  check(sizes);
}

TEST_CASE("rows of several query tokens see different tokens of latent attention") {
  LatentSizes sizes = one_item_each({130, 64, 67, 3});
  sizes.q_len = 3;
  sizes.heads = tile_size_q / 2;
  check(sizes);
  sizes.blocks = 2 * kClusterSize;
  sizes.unit = 64;
  sizes.q_lengths = {3, 1, 2, 5};
  check(sizes, kSpeeds[4]);
  sizes.heads = tile_size_q / 4 * 3;  // the tiles have parts of tokens
  sizes.has_sinks = true;
  check(sizes);
}

TEST_CASE("rows of latent attention that see no token are zero") {
  LatentSizes sizes = one_item_each({2, 66, 0});
  sizes.q_lengths = {5, 70, 2};
  sizes.heads = 3;
  check(sizes);
}

TEST_CASE("CTAs of latent attention compute random batches") {
  std::mt19937 dice(12);
  const auto below = [&](unsigned end) { return static_cast<int>(dice() % end); };
  for (int i = 0; i < 3; ++i) {
    LatentSizes sizes;
    for (int sequence = 1 + below(3); sequence > 0; --sequence) {
      sizes.kv_lengths.push_back(below(200));
      sizes.q_lengths.push_back(1 + below(3));
    }
    sizes.heads = 1 + below(kHeads);
    sizes.unit = 64 << below(2);
    sizes.min_units = 1 + below(2);
    sizes.blocks = (1 + below(6)) * kClusterSize;
    sizes.split_is_unit = below(4) == 0;
    sizes.has_sinks = below(2) == 0;
    check(sizes, kSpeeds[static_cast<std::size_t>(below(7))]);
  }
}
