// SPDX-License-Identifier: Apache-2.0
#include "backend_fixture.hpp"

#include <cubinet/attention/problem_conversion.hpp>

namespace cubinet {
namespace {

TEST_CASE("a decode problem survives the way to an attention problem and back") {
  DecodeProblem problem;
  problem.batch = 3;
  problem.q_len = 4;
  problem.heads_q = 12;
  problem.heads_kv = 3;
  problem.head_dim_qk = 64;
  problem.head_dim_v = 256;
  problem.kv_len_max = 999;
  problem.page_size = 32;
  problem.dtype_q = problem.dtype_kv = DataType::fp16;
  problem.dtype_o = DataType::fp32;
  problem.window = 100;
  problem.layout = KvLayout::hnd;
  problem.softmax_scale = 0.25f;
  problem.kv_lengths = {1, 2, 999};
  const AttentionProblem attention = attention_problem_of(problem);
  REQUIRE(check_problem(attention));
  const auto back = decode_problem_of(attention, hints_of(problem));
  const auto* decode = std::get_if<DecodeProblem>(&back);
  REQUIRE(decode != nullptr);
  CHECK(decode->batch == 3);
  CHECK(decode->q_len == 4);
  CHECK(decode->heads_q == 12);
  CHECK(decode->heads_kv == 3);
  CHECK(decode->head_dim_qk == 64);
  CHECK(decode->head_dim_v == 256);
  CHECK(decode->kv_len_max == 999);
  CHECK(decode->page_size == 32);
  CHECK(decode->dtype_q == DataType::fp16);
  CHECK(decode->dtype_kv == DataType::fp16);
  CHECK(decode->dtype_o == DataType::fp32);
  CHECK(decode->window == 100);
  CHECK(decode->layout == KvLayout::hnd);
  CHECK(decode->softmax_scale == 0.25f);
  CHECK(decode->kv_lengths == problem.kv_lengths);
  CHECK(decode->mask == DecodeMask::causal);
}

TEST_CASE("empty sequences and lengths below that of the query are no reason to refuse a decode") {
  DecodeProblem problem;
  problem.kv_len_max = 0;
  CHECK(check_problem(attention_problem_of(problem)));
  problem.q_len = 5;
  problem.kv_len_max = 3;
  CHECK(check_problem(attention_problem_of(problem)));
}

TEST_CASE("a window that cuts nothing off asks for no kernel with a window") {
  AttentionProblem problem = test::generation(1, 1, 100, 4, 4);
  problem.window = 100;
  CHECK_FALSE(std::get<DecodeProblem>(decode_problem_of(problem, {})).window);
  problem.window = 99;
  CHECK(std::get<DecodeProblem>(decode_problem_of(problem, {})).window == 99);
}

}  // namespace
}  // namespace cubinet
