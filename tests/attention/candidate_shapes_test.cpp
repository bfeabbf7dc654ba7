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

}  // namespace
}  // namespace cubinet
