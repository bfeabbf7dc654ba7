// SPDX-License-Identifier: Apache-2.0
// Compares all families of decode attention with float64, over random problems and over the
// problems of the prior system's tests. Needs a GPU and NVRTC. CUBINET_TEST_SEED repeats a run. At
// full size (CUBINET_TEST_EVERY) there are 2,500 problems and the whole matrix.
#include "random_cases.hpp"
#include "support/sampled.hpp"

#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <iterator>
#include <set>

namespace cubinet {
namespace {

using test::Dice;
using test::ok;
using namespace test::gpu;

// Returns ten problems that kernels of the same features compute.
std::vector<Case> cases_of_a_kind(const Gpu& gpu, const AttentionBackends& backends, std::uint64_t seed) {
  Dice dice(seed);
  const AttentionProblem common = test::random_kind(dice);
  std::set<std::string> compiled;
  std::vector<Case> cases(10);
  for (Case& tried : cases) {
    tried.problem = test::random_sizes(common, dice);
    tried.lengths = test::random_lengths(tried.problem, dice);
    if (dice.one_of(2)) tried.problem.kv_lengths = tried.lengths;
    tried.seed = dice.number();
    const auto ways = ways_of(gpu, backends, tried.problem);
    REQUIRE_MESSAGE(!ways.empty(), words_of(tried));
    if (!dice.one_of(5)) tried.options = random_way(ways, compiled, dice);
  }
  return cases;
}

TEST_CASE("Every family computes random problems as float64 does, and the same bits twice") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  const std::uint64_t seed = seed_of_run();
  MESSAGE("CUBINET_TEST_SEED=", seed);
  const AttentionBackends backends = ok(AttentionBackends::builtin());
  const std::size_t kinds = test::at_full_size() ? 250 : 6;
  std::vector<std::vector<Case>> of_kinds(kinds);
  parallel_for(kinds, 0,
               [&](std::size_t kind) { of_kinds[kind] = cases_of_a_kind(*gpu, backends, seed + kind); });
  std::vector<Case> cases;
  for (std::vector<Case>& of_kind : of_kinds)
    std::move(of_kind.begin(), of_kind.end(), std::back_inserter(cases));
  check_all(*gpu, std::move(cases));
}

// The shapes of the prior system's own decode tests: batch, query tokens, page, KV heads, group.
constexpr std::uint32_t kShapes[][5] = {
    {4, 1, 16, 2, 1},   {4, 1, 32, 2, 5},   {4, 2, 64, 2, 5},   {4, 3, 32, 2, 5},   {4, 3, 64, 2, 1},
    {4, 4, 64, 4, 1},   {4, 5, 64, 4, 8},   {128, 1, 64, 2, 5}, {128, 2, 32, 4, 1}, {128, 3, 16, 4, 8},
    {128, 4, 16, 2, 5}, {128, 5, 16, 2, 5}, {256, 1, 64, 4, 8}, {256, 2, 16, 2, 8}, {256, 3, 64, 4, 5},
    {256, 4, 32, 2, 8}, {256, 5, 32, 2, 1}, {4, 1, 64, 2, 7},   {4, 16, 32, 2, 7},  {1024, 1, 16, 2, 5},
};

// The types of Q, KV and output.
constexpr DataType kTypes[][3] = {
    {DataType::bf16, DataType::bf16, DataType::bf16}, {DataType::fp16, DataType::fp16, DataType::fp16},
    {DataType::bf16, DataType::e4m3, DataType::bf16}, {DataType::fp16, DataType::e4m3, DataType::fp16},
    {DataType::bf16, DataType::e4m3, DataType::e4m3}, {DataType::fp16, DataType::e4m3, DataType::e4m3},
    {DataType::e4m3, DataType::e4m3, DataType::bf16}, {DataType::e4m3, DataType::e4m3, DataType::fp16},
    {DataType::e4m3, DataType::e4m3, DataType::e4m3},
};

TEST_CASE("The shapes that the prior system is tested with are computed as float64 does") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  std::vector<Case> all;
  for (const auto& [batch, q_len, page, heads_kv, group] : kShapes) {
    for (const auto& [q, kv, o] : kTypes) {
      for (const std::uint32_t variant : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
        Case tried;
        AttentionProblem& problem = tried.problem;
        problem.batch = batch;
        problem.q_len = q_len;
        problem.tokens_per_page = page;
        problem.heads_kv = heads_kv;
        problem.heads_q = heads_kv * group;
        problem.kv_len = 110;
        problem.data_type_q = q;
        problem.data_type_k = problem.data_type_v = kv;
        problem.data_type_o = o;
        if ((variant & 1U) != 0) problem.kv_order = KvOrder::hnd;
        if ((variant & 2U) != 0) problem.window = variant == 2 ? 1 : 90;
        problem.sinks = (variant & 4U) != 0 && o == DataType::bf16;
        problem.ragged_q = (variant & 4U) != 0;
        problem.lse = true;
        tried.lengths = make_kv_lengths(problem, LengthPattern::borders);
        tried.options.starts_early = (variant & 1U) != 0;
        tried.seed = all.size();
        all.push_back(std::move(tried));
      }
    }
  }
  std::vector<Case> cases;
  for (const std::size_t at : test::sampled(all.size(), 48))
    cases.push_back(all[at]);
  check_all(*gpu, std::move(cases));
}

TEST_CASE("Long sequences, latent attention and large batches are computed as float64 does") {
  const auto gpu = Gpu::open();
  if (!gpu) return;
  std::vector<Case> all;
  const auto add = [&](const AttentionProblem& problem, LengthPattern pattern) {
    Case tried;
    tried.problem = problem;
    tried.lengths = make_kv_lengths(problem, pattern);
    tried.seed = all.size();
    all.push_back(std::move(tried));
  };
  for (const DataType type : {DataType::bf16, DataType::e4m3}) {
    for (const std::uint32_t kv_len : {4'096U, 8'192U, 32'768U, 131'072U}) {
      for (const std::uint32_t q_len : {1U, 3U, 4U}) {
        AttentionProblem problem;
        problem.q_len = q_len;
        problem.kv_len = kv_len;
        problem.heads_kv = q_len == 4 ? 4 : 2;
        problem.heads_q = q_len == 1 ? 10 : problem.heads_kv;
        problem.tokens_per_page = q_len == 1 ? 16 : 64;
        problem.data_type_k = problem.data_type_v = type;
        problem.lse = true;
        add(problem, LengthPattern::uniform);
      }
    }
    for (const std::uint32_t batch : {1U, 2U, 4U, 16U, 32U, 64U, 128U, 256U, 512U, 768U, 1'024U}) {
      for (const std::uint32_t page : {32U, 64U}) {
        AttentionProblem problem;
        problem.batch = batch;
        problem.q_len = page == 32 ? 1 : 2;
        problem.kv_len = batch > 64 ? 40 : 700;
        problem.heads_q = batch > 64 ? 16 : 128;
        problem.head_dim_qk = 576;
        problem.head_dim_v = 512;
        problem.tokens_per_page = page;
        problem.data_type_q = problem.data_type_k = problem.data_type_v = type;
        problem.output_scale = page == 32 ? 1 : 0.5;
        problem.lse = true;
        add(problem, LengthPattern::borders);
      }
    }
  }
  std::vector<Case> cases;
  for (const std::size_t at : test::sampled(all.size(), 12))
    cases.push_back(all[at]);
  check_all(*gpu, std::move(cases));
}

}  // namespace
}  // namespace cubinet
