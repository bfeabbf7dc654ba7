// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_order.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace cubinet {
namespace {

constexpr PrefillTile kOrderedTile{128, 128, 2};

// Returns generation of one KV head with these lengths. A tile has all rows of a sequence.
AttentionProblem sequences(const std::vector<std::int32_t>& lengths, std::uint32_t q_len = 8) {
  AttentionProblem problem;
  problem.batch = static_cast<std::uint32_t>(lengths.size());
  problem.q_len = q_len;
  problem.kv_len = 4096;
  problem.heads_q = 16;
  problem.kv_lengths = lengths;
  return problem;
}

std::optional<BusiestCta> busiest(const AttentionProblem& problem, std::uint32_t ctas,
                                  const PrefillSplits& splits = {}) {
  PrefillBlock block;
  block.tile_heads = 16;
  return busiest_cta(problem, kOrderedTile, block, splits, ctas);
}

TEST_CASE("with a CTA for each tile the busiest one has the longest tile alone") {
  CHECK(busiest(sequences({100, 1000, 0}), 3) == BusiestCta{1024, 1});
  CHECK(busiest(sequences(std::vector{0}), 1) == BusiestCta{128, 1});
}

TEST_CASE("a long tile at the end of the batch follows the shortest one") {
  CHECK(busiest(sequences({1280, 128, 640, 1280}), 3) == BusiestCta{128 + 1280, 2});
  CHECK(busiest(sequences({1280, 1280, 640, 128}), 3) == BusiestCta{1280, 1});
}

TEST_CASE("splits are tiles of their own, and each KV head and tile of rows has the same ones") {
  const PrefillSplits splits{4, 1024};
  CHECK(busiest(sequences(std::vector{4096}), 4, splits) == BusiestCta{1024, 1});
  CHECK(busiest(sequences({4096, 1100}), 5, splits) == BusiestCta{1024 + 128, 2});
  CHECK(busiest(sequences(std::vector{4096}, 16), 4, splits) == BusiestCta{2048, 2});
  AttentionProblem heads = sequences(std::vector{4096});
  heads.heads_q = 32;
  CHECK(busiest(heads, 4, splits) == BusiestCta{2048, 2});
  heads.window = 500;
  CHECK(busiest(heads, 4) == BusiestCta{512, 1});
}

TEST_CASE("unknown lengths, prompts and very many tiles are not counted") {
  AttentionProblem problem = sequences(std::vector{4096});
  problem.kv_lengths.clear();
  CHECK_FALSE(busiest(problem, 4));
  problem = sequences(std::vector{4096});
  problem.prefill = true;
  CHECK_FALSE(busiest(problem, 4));
  CHECK(busiest(sequences(std::vector<std::int32_t>(2048, 100)), 4));
  CHECK_FALSE(busiest(sequences(std::vector<std::int32_t>(2049, 100)), 4));
}

}  // namespace
}  // namespace cubinet
