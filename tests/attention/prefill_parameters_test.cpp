// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_parameters.hpp"

#include "prefill_fixture.hpp"

#include <cmath>

namespace cubinet {
namespace {

namespace prefill = test::prefill;

kernel_templates::AttentionPrefillParameters parameters_of(const AttentionProblem& problem) {
  const auto made = prefill_parameters(problem);
  REQUIRE(made);
  return *made;
}

TEST_CASE("strides of prefill follow the layout of the problem") {
  AttentionProblem problem = prefill::prompts(2, 1000, 30);
  problem.head_dim_qk = 192;
  problem.tokens_per_page = 24;
  const auto nhd = parameters_of(problem);
  CHECK(nhd.q_batch_stride == 30 * 32 * 192);
  CHECK(nhd.q_token_stride == 32 * 192);
  CHECK(nhd.q_head_stride == 192);
  CHECK(nhd.o_batch_stride == 30 * 32 * 128);
  CHECK(nhd.k_outer_stride == 24 * 8 * 192);
  CHECK(nhd.k_token_stride == 8 * 192);
  CHECK(nhd.v_head_stride == 128);
  CHECK(nhd.page_table_stride == 42);
  CHECK(nhd.v_page_table_offset == 0);
  problem.kv_order = KvOrder::hnd;
  problem.separate_page_tables = true;
  const auto hnd = parameters_of(problem);
  CHECK(hnd.k_outer_stride == nhd.k_outer_stride);
  CHECK(hnd.k_token_stride == 192);
  CHECK(hnd.k_head_stride == 24 * 192);
  CHECK(hnd.page_table_stride == 84);
  CHECK(hnd.v_page_table_offset == 42);
  problem.layout = QkvLayout::contiguous_kv;
  const auto contiguous = parameters_of(problem);
  CHECK(contiguous.k_outer_stride == 1000 * 8 * 192);
  CHECK(contiguous.k_token_stride == 8 * 192);
  CHECK(contiguous.v_outer_stride == 1000 * 8 * 128);
  CHECK(contiguous.page_table_stride == 0);
}

TEST_CASE("sizes, scales and divisors of prefill are those of the problem") {
  AttentionProblem problem = prefill::prompts(2, 1000, 30);
  problem.softmax_scale = 0.5;
  problem.output_scale = 0.25;
  problem.soft_cap = 20;
  problem.window = 77;
  const auto p = parameters_of(problem);
  CHECK(p.batch == 2);
  CHECK(p.q_len == 30);
  CHECK(p.max_kv_length == 1000);
  CHECK(p.window == 77);
  CHECK(p.softmax_scale_log2 == doctest::Approx(0.5 / std::log(2.0)));
  CHECK(p.output_scale == 0.25F);
  CHECK(p.soft_cap == 20);
  CHECK(p.heads_q.divisor == 32);
  CHECK(p.heads_kv.divisor == 8);
  CHECK(p.group.divisor == 4);
  CHECK(p.page_size.divisor == 64);
  CHECK(p.lengths_exclude_new == 0);
  problem.append.emplace().lengths_exclude_new = true;
  CHECK(parameters_of(problem).lengths_exclude_new == -1);
}

}  // namespace
}  // namespace cubinet
