// SPDX-License-Identifier: Apache-2.0
#include "published/launch_configuration.hpp"

#include "problems.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using Grid = std::array<std::uint32_t, 3>;

KernelFacts swaps(std::uint16_t tile, MultiCtasKvMode mode) {
  KernelFacts kernel;
  kernel.selector.tile_size_q = tile;
  kernel.selector.multi_ctas_kv_mode = mode;
  kernel.selector.groups_tokens_heads_q = true;
  kernel.traits = {tile, 256, true};
  return kernel;
}

KernelFacts mla_keeps(std::uint16_t columns, MultiCtasKvMode mode, bool two_cta) {
  KernelFacts kernel = swaps(64, mode);
  kernel.selector.kernel_type = KernelType::keeps_mma_ab;
  kernel.selector.head_dim_qk = 576;
  kernel.selector.head_dim_v = 512;
  kernel.selector.head_dim_per_cta_v = columns;
  kernel.selector.two_cta = two_cta;
  kernel.selector.groups_tokens_heads_q = false;
  kernel.traits.step_kv = 128;
  return kernel;
}

TEST_CASE("tokens and heads fill the rows of a tile, and what is left is counted") {
  const auto launch =
      configure_launch(test::generation(4, 3, 4096, 10, 5), swaps(16, MultiCtasKvMode::gmem), 148);
  REQUIRE(launch);
  CHECK(launch->heads_per_cta == 5);
  CHECK(launch->tokens_per_cta_q == 3);
  CHECK(launch->wasted_rows == 1);
  CHECK(launch->ctas_q == 1);
  CHECK(launch->ctas_kv == 8);
  CHECK(launch->grid == Grid{8, 2, 4});
}

TEST_CASE("a group larger than the step takes one token a tile and several tiles of heads") {
  const auto launch =
      configure_launch(test::generation(1, 2, 4096, 32, 32), swaps(8, MultiCtasKvMode::disabled), 148);
  REQUIRE(launch);
  CHECK(launch->tokens_per_cta_q == 1);
  CHECK(launch->heads_per_cta == 8);
  CHECK(launch->grid == Grid{2, 4, 1});
  // Twelve heads do not divide into tiles of eight.
  CHECK_FALSE(
      configure_launch(test::generation(1, 2, 4096, 24, 12), swaps(8, MultiCtasKvMode::disabled), 148));
}

TEST_CASE("kernels that do not group tokens take a CTA for each") {
  KernelFacts kernel = swaps(16, MultiCtasKvMode::disabled);
  kernel.selector.groups_tokens_heads_q = false;
  CHECK(configure_launch(test::generation(1, 5, 4096, 8, 8), kernel, 148)->ctas_q == 5);
  CHECK(configure_launch(test::generation(1, 1, 4096, 8, 8), kernel, 148)->ctas_q == 1);
  kernel.traits.groups_heads_q = false;
  CHECK(configure_launch(test::generation(1, 1, 4096, 8, 8), kernel, 148)->head_ctas == 8);
}

TEST_CASE("each CTA of a split has at least two steps, and all of them fit at once") {
  const auto splits = [](std::uint32_t batch, std::uint32_t kv_len) {
    return configure_launch(test::generation(batch, 1, kv_len, 8, 8), swaps(8, MultiCtasKvMode::gmem), 148)
        ->ctas_kv;
  };
  CHECK(splits(1, 1) == 1);
  CHECK(splits(1, 512) == 1);
  CHECK(splits(1, 513) == 2);
  CHECK(splits(1, 1'000'000) == 148);
  CHECK(splits(74, 1'000'000) == 2);
  CHECK(splits(75, 1'000'000) == 1);
  CHECK(splits(1000, 1'000'000) == 1);
}

TEST_CASE("windows, chunks and top k limit what is split") {
  AttentionProblem problem = test::generation(1, 1, 100'000, 8, 8);
  CHECK(kv_reach(problem, 256) == 100'000);
  problem.window = 1000;
  CHECK(kv_reach(problem, 256) == 1255);
  problem.window = 99'999;
  CHECK(kv_reach(problem, 256) == 100'000);
  problem.window = kUnlimited;
  problem.chunk = 4096;
  CHECK(kv_reach(problem, 256) == 4096);
  problem.chunk = kUnlimited;
  problem.sparse = SparseAttention::static_token;
  problem.top_k = 2048;
  CHECK(kv_reach(problem, 256) == 2048);
}

TEST_CASE("a cluster holds the splits and pairs, sixteen CTAs at most") {
  const AttentionProblem problem = test::generation(1, 1, 8192, 8, 8);
  const auto cga = configure_launch(problem, swaps(8, MultiCtasKvMode::cga), 148);
  REQUIRE(cga);
  CHECK(cga->cluster_x == 16);
  CHECK(cga->needs_non_portable_cluster());
  CHECK(cga->spreads_clusters());
  CHECK_FALSE(configure_launch(test::generation(1, 1, 8193, 8, 8), swaps(8, MultiCtasKvMode::cga), 148));
  const auto gmem = configure_launch(problem, swaps(8, MultiCtasKvMode::gmem), 148);
  CHECK(gmem->cluster_x == 1);
  CHECK_FALSE(gmem->spreads_clusters());
}

TEST_CASE("a pair of CTAs needs two tiles of heads and two of columns") {
  const AttentionProblem problem = test::generation(8, 1, 4096, 128, 128, 576, 512);
  const auto pair = configure_launch(problem, mla_keeps(256, MultiCtasKvMode::disabled, true), 148);
  REQUIRE(pair);
  CHECK(pair->grid == Grid{2, 1, 8});
  CHECK(pair->cluster_x == 2);
  CHECK_FALSE(configure_launch(problem, mla_keeps(512, MultiCtasKvMode::disabled, true), 148));
  CHECK_FALSE(configure_launch(test::generation(8, 1, 4096, 64, 64, 576, 512),
                               mla_keeps(256, MultiCtasKvMode::disabled, true), 148));
  KernelFacts uneven = mla_keeps(512, MultiCtasKvMode::disabled, false);
  uneven.selector.head_dim_per_cta_v = 96;
  CHECK_FALSE(configure_launch(problem, uneven, 148));
}

TEST_CASE("the grid of a separate reduction is never empty") {
  for (std::uint32_t batch = 1; batch <= 2000; batch += 7) {
    for (const bool pair : {false, true}) {
      const auto launch = configure_launch(test::generation(batch, 3, 4096, 128, 128, 576, 512),
                                           mla_keeps(256, MultiCtasKvMode::gmem_separate, pair), 148);
      REQUIRE(launch);
      REQUIRE(launch->reduction);
      for (const std::uint32_t dimension : launch->reduction->grid)
        CHECK(dimension >= 1);
      CHECK(launch->reduction->slices == (pair ? 8 : 4));
    }
  }
  const auto small = configure_launch(test::generation(1, 1, 65536, 128, 128, 576, 512),
                                      mla_keeps(256, MultiCtasKvMode::gmem_separate, true), 148);
  CHECK(small->reduction->grid == Grid{8, 2, 1});
}

TEST_CASE("a separate reduction of another shape or type is declined") {
  AttentionProblem problem = test::generation(1, 1, 65536, 128, 128, 576, 512);
  CHECK_FALSE(configure_launch(problem, swaps(8, MultiCtasKvMode::gmem_separate), 148));
  KernelFacts kernel = mla_keeps(512, MultiCtasKvMode::gmem_separate, false);
  CHECK(configure_launch(problem, kernel, 148));
  kernel.selector.data_type_o = DataType::e4m3;
  CHECK_FALSE(configure_launch(problem, kernel, 148));
  kernel.selector.data_type_q = DataType::e4m3;
  CHECK(configure_launch(problem, kernel, 148));
  kernel.selector.data_type_o = DataType::e2m1;
  CHECK_FALSE(configure_launch(problem, kernel, 148));
}

TEST_CASE("grids over the limits of a launch are declined and nothing overflows") {
  AttentionProblem problem = test::generation(65'535, 1, kUnlimited, 65'535, 1);
  CHECK(configure_launch(problem, swaps(8, MultiCtasKvMode::gmem), 148));
  problem.q_len = kUnlimited;
  CHECK(configure_launch(problem, swaps(8, MultiCtasKvMode::gmem), 148));
  problem.head_dim_v = 256;
  CHECK_FALSE(configure_launch(problem, swaps(8, MultiCtasKvMode::gmem), 148));
}

TEST_CASE("shared memory of 48 KiB and more has to be opted in to") {
  KernelFacts kernel = swaps(8, MultiCtasKvMode::disabled);
  kernel.shared_bytes = 48 * 1024 - 1;
  CHECK_FALSE(configure_launch(test::generation(1, 1, 1, 8, 8), kernel, 148)->needs_opt_in_shared());
  kernel.shared_bytes = 48 * 1024;
  CHECK(configure_launch(test::generation(1, 1, 1, 8, 8), kernel, 148)->needs_opt_in_shared());
}

TEST_CASE("the longest main loop is counted in whole steps") {
  const AttentionProblem problem = test::generation(4, 3, 4096, 10, 5);
  const KernelFacts kernel = swaps(8, MultiCtasKvMode::gmem);
  const auto launch = configure_launch(problem, kernel, 148);
  CHECK(main_loop_length(problem, kernel, *launch) == 768);
}

}  // namespace
}  // namespace cubinet
