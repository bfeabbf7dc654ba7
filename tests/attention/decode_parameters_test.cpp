// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/decode_parameters.hpp"

#include "decode_fixture.hpp"

#include <cmath>

namespace cubinet {
namespace {

using namespace test::decode;

TEST_CASE("Strides follow the layout") {
  AttentionProblem problem = llama(2, 1000, 3);
  problem.head_dim_v = 64;
  const auto nhd = plan(problem).parameters;
  CHECK(nhd.q_batch_stride == 3 * 64 * 128);
  CHECK(nhd.q_token_stride == 64 * 128);
  CHECK(nhd.o_token_stride == 64 * 64);
  CHECK(nhd.k_page_stride == 64 * 8 * 128);
  CHECK(nhd.k_token_stride == 8 * 128);
  CHECK(nhd.k_head_stride == 128);
  CHECK(nhd.v_head_stride == 64);
  CHECK(nhd.page_table_stride == 16);
  problem.kv_order = KvOrder::hnd;
  const auto hnd = plan(problem).parameters;
  CHECK(hnd.k_page_stride == nhd.k_page_stride);
  CHECK(hnd.k_token_stride == 128);
  CHECK(hnd.k_head_stride == 64 * 128);
  CHECK(hnd.v_head_stride == 64 * 64);
}

TEST_CASE("The softmax scale is given in base 2") {
  AttentionProblem problem = llama(1, 4096);
  problem.softmax_scale = 0.5F;
  CHECK(plan(problem).parameters.softmax_scale_log2 == doctest::Approx(0.5 / std::log(2.0)));
}

TEST_CASE("Lengths without the new tokens are marked, with an append alone") {
  AttentionProblem problem = llama(1, 4096);
  CHECK(plan(problem).parameters.lengths_exclude_new == 0);
  problem.append.emplace();
  CHECK(plan(problem).parameters.lengths_exclude_new == 0);
  problem.append->lengths_exclude_new = true;
  CHECK(plan(problem).parameters.lengths_exclude_new == -1);
}

TEST_CASE("The output scale is handed on") {
  AttentionProblem problem = llama(1, 4096);
  problem.output_scale = 0.25;
  CHECK(plan(problem).parameters.output_scale == 0.25F);
}

TEST_CASE("The numbers that kernels divide by are those of the plan") {
  const DecodePlan made = plan(llama(1, 4096, 3));
  CHECK(made.parameters.heads_kv.divisor == 8);
  CHECK(made.parameters.group.divisor == 8);
  CHECK(made.parameters.unit.divisor == 64);
  CHECK(static_cast<std::uint32_t>(made.parameters.blocks.divisor) * 8 == made.grid[0]);
  CHECK(made.q_tiles * made.splits * 8 == made.grid[0]);
  CHECK(made.parameters.group.quotient(23) == 2);
  CHECK(made.parameters.group.remainder(23) == 7);
}

}  // namespace
}  // namespace cubinet
