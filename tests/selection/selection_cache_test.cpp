// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <cubinet/selection/selection_cache.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

SelectionCache cache_of(const AttentionProblem& problem, std::size_t capacity = 4096) {
  return SelectionCache(test::kB200,
                        std::make_shared<const KernelIndex>(test::index_of(test::rows_for(problem))), {},
                        capacity);
}

TEST_CASE("a problem of a known bucket is answered from the cache") {
  AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  SelectionCache cache = cache_of(problem);
  const auto first = cache.select(problem);
  REQUIRE(first);
  CHECK((*first)->found);
  problem.kv_len = 4090;
  const auto second = cache.select(problem);
  REQUIRE(second);
  CHECK(*second == *first);
  CHECK(cache.size() == 1);
  problem.kv_len = 4097;
  CHECK(cache.select(problem));
  CHECK(cache.size() == 2);
}

TEST_CASE("every field but the length of KV is part of the bucket as it is") {
  const AttentionProblem base = test::generation(2, 2, 4096, 32, 4);
  const auto other = [&](auto change) {
    AttentionProblem problem = base;
    change(problem);
    return bucket_of(problem) != bucket_of(base);
  };
  CHECK(other([](AttentionProblem& p) { p.batch = 3; }));
  CHECK(other([](AttentionProblem& p) { p.q_len = 3; }));
  CHECK(other([](AttentionProblem& p) { p.heads_q = 64; }));
  CHECK(other([](AttentionProblem& p) { p.heads_kv = 4; }));
  CHECK(other([](AttentionProblem& p) { p.head_dim_qk = 64; }));
  CHECK(other([](AttentionProblem& p) { p.head_dim_v = 64; }));
  CHECK(other([](AttentionProblem& p) { p.data_type_q = DataType::e4m3; }));
  CHECK(other([](AttentionProblem& p) { p.data_type_k = DataType::e4m3; }));
  CHECK(other([](AttentionProblem& p) { p.data_type_v = DataType::e4m3; }));
  CHECK(other([](AttentionProblem& p) { p.data_type_o = DataType::e4m3; }));
  CHECK(other([](AttentionProblem& p) { p.layout = QkvLayout::packed_qkv; }));
  CHECK(other([](AttentionProblem& p) { p.tokens_per_page = 32; }));
  CHECK(other([](AttentionProblem& p) { p.mask = AttentionMask::dense; }));
  CHECK(other([](AttentionProblem& p) { p.phase = AttentionPhase::context; }));
  CHECK(other([](AttentionProblem& p) { p.sparse = SparseAttention::dynamic_token; }));
  CHECK(other([](AttentionProblem& p) { p.top_k = 4; }));
  CHECK(other([](AttentionProblem& p) { p.skips_softmax = true; }));
  CHECK(other([](AttentionProblem& p) { p.sinks = true; }));
  CHECK(other([](AttentionProblem& p) { p.sage_block[3] = 1; }));
  CHECK(other([](AttentionProblem& p) { p.window = 4095; }));
  CHECK(other([](AttentionProblem& p) { p.chunk = 4095; }));
  CHECK_FALSE(other([](AttentionProblem& p) { p.window = 4096; }));
  CHECK_FALSE(other([](AttentionProblem& p) { p.kv_len = 4095; }));
}

TEST_CASE("errors are not kept, and a bucket does not hide one") {
  AttentionProblem problem = test::generation(1, 1, 64, 32, 4);
  SelectionCache cache = cache_of(problem);
  CHECK(cache.select(problem));
  problem.kv_len = 0;
  CHECK_FALSE(cache.select(problem));
  problem.kv_len = 64;
  problem.q_len = 33;
  CHECK(cache.select(problem));
  problem.kv_len = 32;
  CHECK_FALSE(cache.select(problem));
  problem.kv_len = kUnlimited;
  CHECK(cache.select(problem));
  problem.kv_len = kUnlimited + 1U;
  CHECK_FALSE(cache.select(problem));
}

TEST_CASE("a full cache forgets, and one without room still answers") {
  AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  SelectionCache cache = cache_of(problem, 4);
  for (std::uint32_t batch = 1; batch <= 20; ++batch) {
    problem.batch = batch;
    CHECK(cache.select(problem));
    CHECK(cache.size() <= 4);
  }
  problem.batch = 1;
  SelectionCache none = cache_of(problem, 0);
  CHECK((*none.select(problem))->found);
  CHECK(none.size() == 0);
}

}  // namespace
}  // namespace cubinet
