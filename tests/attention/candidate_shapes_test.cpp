// SPDX-License-Identifier: Apache-2.0
#include "published/candidate_shapes.hpp"

#include "problems.hpp"

#include <doctest/doctest.h>

#include <set>
#include <tuple>

namespace cubinet {
namespace {

std::vector<int> tiles(const AttentionProblem& problem, std::size_t limit = CandidateShapes::kMaximum) {
  const CandidateShapes list = candidate_shapes(problem, 148, 1024, {});
  std::vector<int> sizes;
  for (std::size_t i = 0; i < list.count && i < limit; ++i)
    sizes.push_back(list.shapes[i].tile_size_q);
  return sizes;
}

TEST_CASE("the default tile is the smallest that the rows of one KV head fit into") {
  const auto standard = [](std::uint32_t q_len, std::uint32_t group) {
    return candidate_shapes(test::generation(1, q_len, 4096, group, group), 148, 1024, {}).shapes[0];
  };
  const std::pair<std::uint32_t, int> expected[] = {{1, 8},    {8, 8},     {9, 16},   {16, 16},
                                                    {17, 32},  {32, 32},   {33, 64},  {64, 64},
                                                    {65, 128}, {128, 128}, {500, 128}};
  for (const auto& [rows, tile] : expected) {
    CHECK(standard(1, rows).tile_size_q == tile);
    CHECK(standard(rows, 1).tile_size_q == tile);
    CHECK(standard(rows, 1).type == (tile >= 64 ? KernelType::keeps_mma_ab : KernelType::swaps_mma_ab));
  }
}

TEST_CASE("tiles from the default down to the group size are compared, others stand in behind them") {
  const AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  CHECK(candidate_shapes(problem, 148, 1024, {}).compared == 4);
  CHECK(tiles(problem) == std::vector<int>{64, 32, 16, 8, 128});
  CHECK(tiles(test::generation(1, 2, 2048, 16, 16)) == std::vector<int>{32, 16, 64, 128, 8});
  // One token, a default of eight, and a group that no tile holds: nothing to compare.
  CHECK(candidate_shapes(test::generation(1, 1, 2048, 16, 16), 148, 1024, {}).compared == 0);
  CHECK(candidate_shapes(test::generation(1, 2, 2048, 16, 4), 148, 1024, {}).compared == 0);
  CHECK(candidate_shapes(test::generation(1, 2, 2048, 256, 256), 148, 1024, {}).compared == 0);
  CHECK(candidate_shapes(test::generation(1, 2, 2048, 128, 128), 148, 1024, {}).compared == 1);
  CHECK(tiles(test::generation(1, 1, 2048, 16, 16)) == std::vector<int>{16, 32, 64, 128, 8});
}

TEST_CASE("no list of shapes is empty, too long or names a shape twice") {
  for (const std::uint32_t group : {1U, 8U, 12U, 16U, 32U, 64U, 128U, 256U}) {
    for (const std::uint32_t q_len : {1U, 3U, 40U}) {
      for (const std::uint32_t dim : {64U, 128U, 512U, 1024U}) {
        for (const bool mla : {false, true}) {
          const AttentionProblem problem =
              test::generation(2, q_len, 4096, group, group, mla ? 576 : dim, mla ? 512 : dim);
          const CandidateShapes list = candidate_shapes(problem, 148, 1024, {});
          CHECK(list.count > 0);
          CHECK(list.count < CandidateShapes::kMaximum);
          std::set<std::tuple<int, int, bool>> seen;
          for (std::size_t i = 0; i < list.count; ++i) {
            const Shape& shape = list.shapes[i];
            CHECK(problem.head_dim_v % shape.head_dim_per_cta_v == 0);
            CHECK(seen.insert({shape.tile_size_q, shape.head_dim_per_cta_v, shape.two_cta}).second);
          }
        }
      }
    }
  }
}

TEST_CASE("sparse MLA keeps A and B for a group of 128 only") {
  AttentionProblem problem = test::generation(512, 1, 8192, 256, 256, 576, 512);
  problem.sparse = SparseAttention::static_token;
  problem.top_k = 2048;
  const CandidateShapes list = candidate_shapes(problem, 148, 1024, {});
  for (std::size_t i = 0; i < list.count; ++i)
    CHECK(list.shapes[i].type == KernelType::swaps_mma_ab);
  problem.heads_kv = 2;
  CHECK(candidate_shapes(problem, 148, 1024, {}).shapes[0].two_cta);
}

const SelectionRules& rules_of(const char* version) {
  const SelectionRules* rules = find_rules(version);
  REQUIRE(rules != nullptr);
  return *rules;
}

AttentionProblem latent(std::uint32_t batch, std::uint32_t q_len, std::uint32_t group) {
  AttentionProblem problem = test::generation(batch, q_len, 8192, group, group, 576, 512);
  problem.tokens_per_page = 32;
  return problem;
}

Shape latent_shape(const AttentionProblem& problem, const char* version) {
  return candidate_shapes(problem, 148, 1024, rules_of(version)).shapes[0];
}

TEST_CASE("from version 14 on wide kernels that keep produce parts of 256 columns") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 64, 64, 512, 512);
  const auto first = [&](const char* version) {
    return candidate_shapes(problem, 148, 1024, rules_of(version)).shapes[0];
  };
  CHECK(first("0.6.13").head_dim_per_cta_v == 512);
  CHECK(first("0.6.14").head_dim_per_cta_v == 256);
  CHECK(first("0.6.14").type == KernelType::keeps_mma_ab);
  // A kernel that swaps holds the whole.
  const AttentionProblem narrow = test::generation(1, 1, 4096, 8, 8, 512, 512);
  CHECK(candidate_shapes(narrow, 148, 1024, rules_of("0.6.14")).shapes[0].head_dim_per_cta_v == 512);
}

TEST_CASE("from version 16 on latent groups of no power of two take the one tile that holds them") {
  const std::pair<std::uint32_t, int> expected[] = {{12, 16}, {20, 32}, {24, 32}, {40, 64}, {48, 64}, {3, 8}};
  for (const auto& [group, tile] : expected) {
    const auto captured_group = group;  // Clang 14 captures no structured binding
    CAPTURE(captured_group);
    const Shape shape = latent_shape(latent(1, 1, group), "0.6.16");
    CHECK(shape.tile_size_q == tile);
    CHECK(shape.type == (tile == 64 ? KernelType::keeps_mma_ab : KernelType::swaps_mma_ab));
  }
  CHECK(latent_shape(latent(1, 1, 20), "0.6.15").tile_size_q == 16);
  CHECK(latent_shape(latent(1, 1, 16), "0.6.16").tile_size_q == 16);
  // No tile holds these groups.
  CHECK(latent_shape(latent(1, 1, 96), "0.6.16") == latent_shape(latent(1, 1, 96), "0.6.15"));
}

TEST_CASE("from version 18 on latent query tokens share a tile, the fewer tiles the fewer columns") {
  const Shape single = latent_shape(latent(1, 4, 16), "0.6.18");
  CHECK(single == Shape{KernelType::keeps_mma_ab, 64, 128, false, true});
  CHECK(latent_shape(latent(4, 4, 16), "0.6.18").head_dim_per_cta_v == 256);
  CHECK(latent_shape(latent(5, 4, 16), "0.6.18").head_dim_per_cta_v == 512);
  CHECK_FALSE(latent_shape(latent(1, 4, 16), "0.6.17").groups_tokens);
  CHECK_FALSE(latent_shape(latent(1, 1, 16), "0.6.18").groups_tokens);
  CHECK_FALSE(latent_shape(latent(17, 4, 16), "0.6.18").groups_tokens);
  CHECK_FALSE(latent_shape(latent(1, 4, 64), "0.6.18").groups_tokens);
  AttentionProblem other = latent(1, 4, 16);
  other.tokens_per_page = 64;
  CHECK_FALSE(latent_shape(other, "0.6.18").groups_tokens);
  other = latent(1, 4, 16);
  other.data_type_o = DataType::fp16;
  CHECK_FALSE(latent_shape(other, "0.6.18").groups_tokens);
  // Tables without such kernels serve the problem by the other rules.
  const CandidateShapes list = candidate_shapes(latent(1, 4, 16), 148, 1024, rules_of("0.6.18"));
  REQUIRE(list.count > 1);
  CHECK_FALSE(list.shapes[1].groups_tokens);
}

TEST_CASE("from version 13 on the group and the batch decide the tile of sparse latent attention") {
  const auto sparse = [](std::uint32_t batch, std::uint32_t q_len, std::uint32_t group, const char* version) {
    AttentionProblem problem = latent(batch, q_len, group);
    problem.sparse = SparseAttention::static_token;
    problem.top_k = 2048;
    return latent_shape(problem, version);
  };
  CHECK(sparse(1, 1, 32, "0.6.13").tile_size_q == 16);
  CHECK(sparse(2, 1, 32, "0.6.13").tile_size_q == 32);
  CHECK(sparse(1, 1, 8, "0.6.13").tile_size_q == 8);
  CHECK(sparse(1, 1, 64, "0.6.13") == Shape{KernelType::keeps_mma_ab, 64, 512, false, false});
  CHECK(sparse(1, 1, 128, "0.6.13") == Shape{KernelType::keeps_mma_ab, 64, 512, false, false});
  CHECK(sparse(1, 2, 128, "0.6.13").two_cta);
  CHECK(sparse(10, 1, 128, "0.6.13").two_cta);
  CHECK(sparse(1, 1, 20, "0.6.16").tile_size_q == 32);
  CHECK(sparse(1, 40, 32, "0.6.18").tile_size_q == 16);
  CHECK(sparse(1, 40, 32, "0.7.0").tile_size_q == 32);
}

}  // namespace
}  // namespace cubinet
