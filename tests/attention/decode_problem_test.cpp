// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/decode_problem.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace cubinet {
namespace {

DecodeProblem llama() {
  DecodeProblem problem;
  problem.batch = 16;
  problem.heads_q = 64;
  problem.heads_kv = 8;
  problem.kv_len_max = 4096;
  return problem;
}

void check_refused(const DecodeProblem& problem, const std::string& field) {
  const auto checked = check(problem);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == ErrorCode::invalid_argument);
  CHECK_MESSAGE(checked.error().message.find(field) != std::string::npos, checked.error().message);
}

TEST_CASE("A plain problem is accepted, an empty KV too") {
  CHECK(check(llama()));
  DecodeProblem empty = llama();
  empty.kv_len_max = 0;
  CHECK(check(empty));
  CHECK(empty.pages_per_sequence() == 1);
}

TEST_CASE("The default softmax scale is one over the root of the head dim") {
  DecodeProblem problem = llama();
  problem.head_dim_qk = 64;
  CHECK(problem.scale() == doctest::Approx(0.125));
  problem.softmax_scale = 0.3f;
  CHECK(problem.scale() == 0.3f);
}

TEST_CASE("Each field out of its range is refused by name") {
  DecodeProblem problem = llama();
  problem.batch = 0;
  check_refused(problem, "batch");
  problem.batch = 65536;
  check_refused(problem, "batch");
  problem = llama();
  problem.heads_q = 60;
  check_refused(problem, "heads_q");
  problem.heads_q = 0;
  check_refused(problem, "heads_q");
  problem = llama();
  problem.heads_kv = 0;
  check_refused(problem, "heads_kv");
  problem = llama();
  problem.q_len = 0;
  check_refused(problem, "q_len");
  problem.q_len = std::numeric_limits<int>::max();
  check_refused(problem, "q_len");
  problem = llama();
  problem.kv_len_max = -1;
  check_refused(problem, "kv_len_max");
  problem = llama();
  problem.page_size = 0;
  check_refused(problem, "page_size");
  problem = llama();
  problem.head_dim_v = 0;
  check_refused(problem, "head_dim_v");
}

TEST_CASE("A window must be at least one token and needs the causal mask") {
  DecodeProblem problem = llama();
  problem.window = 0;
  check_refused(problem, "window");
  problem.window = 128;
  CHECK(check(problem));
  problem.mask = DecodeMask::dense;
  check_refused(problem, "window");
}

TEST_CASE("A softmax scale that is not positive and finite is refused") {
  for (const float scale :
       {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    DecodeProblem problem = llama();
    problem.softmax_scale = scale;
    check_refused(problem, "softmax_scale");
  }
}

TEST_CASE("Known lengths must be one a sequence and within the longest") {
  DecodeProblem problem = llama();
  problem.kv_lengths = {1, 2};
  check_refused(problem, "kv_lengths");
  problem.kv_lengths.assign(16, 4097);
  check_refused(problem, "kv_lengths");
  problem.kv_lengths.assign(16, -1);
  check_refused(problem, "kv_lengths");
  problem.kv_lengths.assign(16, 4096);
  CHECK(check(problem));
}

}  // namespace
}  // namespace cubinet
