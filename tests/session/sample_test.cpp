// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/measure.hpp>
#include <cubinet/attention/operation.hpp>
#include <cubinet/session/benchmark.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace cubinet;

namespace {

// Returns whether two cases are equal.
bool same(const BenchmarkCase& a, const BenchmarkCase& b) {
  return a.problem == b.problem && a.kv_lengths == b.kv_lengths && a.tag == b.tag &&
         a.lengths_unknown == b.lengths_unknown;
}

// Returns the share of the cases for which `predicate` holds.
template <class Predicate>
double share(const std::vector<BenchmarkCase>& cases, Predicate predicate) {
  const auto count = std::count_if(cases.begin(), cases.end(), predicate);
  return static_cast<double>(count) / static_cast<double>(cases.size());
}

}  // namespace

TEST_CASE("equal seeds draw equal problems, and a longer sample begins with the shorter one") {
  const auto few = sample_cases(20, 7);
  const auto many = sample_cases(60, 7);
  REQUIRE(few.size() == 20);
  CHECK(many.size() == 60);
  CHECK(std::equal(few.begin(), few.end(), many.begin(), same));
  CHECK_FALSE(same(few[0], sample_cases(1, 8)[0]));
  CHECK(few[3].tag == "sample-7-3");
  CHECK(sample_cases(0, 7).empty());
}

TEST_CASE("a seed draws the problems that it drew on every machine before") {
  const auto drawn = sample_cases(4, 1);
  AttentionProblem latent{
      .batch = 1024, .kv_len = 104, .heads_q = 8, .heads_kv = 1, .head_dim_qk = 576, .head_dim_v = 512};
  latent.tokens_per_page = 16;
  CHECK(same(drawn[0], {.problem = latent, .tag = "sample-1-0"}));
  AttentionProblem narrow{.batch = 32, .kv_len = 746, .heads_q = 64, .heads_kv = 4};
  narrow.data_type_k = narrow.data_type_v = DataType::e4m3;
  CHECK(same(drawn[1], {.problem = narrow, .lengths_unknown = true, .tag = "sample-1-1"}));
  const AttentionProblem uneven{.batch = 8, .q_len = 3, .kv_len = 37'741, .heads_q = 16, .heads_kv = 8};
  CHECK(same(drawn[3], {.problem = uneven,
                        .kv_lengths = {37'741, 1183, 1170, 1027, 1194, 856, 922, 1072},
                        .tag = "sample-1-3"}));
}

TEST_CASE("every drawn problem is valid, within the limits and has the lengths of its batch") {
  for (const BenchmarkCase& drawn : sample_cases(2000, 3)) {
    CAPTURE(drawn.tag);
    const AttentionProblem& problem = drawn.problem;
    REQUIRE(check_problem(problem));
    CHECK(problem.is_generation());
    CHECK(problem.group_size() * problem.q_len <= 1024);
    CHECK(problem.heads_q % problem.heads_kv == 0);
    CHECK(problem.batch <= 1024);
    CHECK(problem.kv_len >= 64);
    CHECK(problem.kv_len <= 131'072);
    std::vector<std::int32_t> lengths = drawn.kv_lengths;
    if (lengths.empty()) lengths.assign(problem.batch, static_cast<std::int32_t>(problem.kv_len));
    REQUIRE(lengths.size() == problem.batch);
    const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
    CHECK(*least >= static_cast<std::int32_t>(problem.q_len));
    CHECK(*most == static_cast<std::int32_t>(problem.kv_len));
    const AttentionWork work = attention_work(problem, lengths);
    CHECK(work.kv_bytes <= 1e9);
    CHECK(work.operations <= 4e10);
  }
}

TEST_CASE("a sample has every kind of problem that servers run") {
  const auto cases = sample_cases(2000, 5);
  const auto has = [&](double least, double most, auto predicate) {
    const double found = share(cases, predicate);
    CHECK(found >= least);
    CHECK(found <= most);
  };
  has(0.12, 0.25, [](const BenchmarkCase& each) { return each.problem.is_mla_generation(); });
  has(0.28, 0.42, [](const BenchmarkCase& each) { return each.problem.data_type_k == DataType::e4m3; });
  has(0.4, 0.6, [](const BenchmarkCase& each) { return each.problem.tokens_per_page == 16; });
  has(0.28, 0.4, [](const BenchmarkCase& each) { return each.lengths_unknown; });
  has(0.3, 0.6, [](const BenchmarkCase& each) { return !each.kv_lengths.empty(); });
  has(0.4, 0.65, [](const BenchmarkCase& each) { return each.problem.q_len == 1; });
  has(0.02, 0.2, [](const BenchmarkCase& each) { return each.problem.sinks; });
  has(0.02, 0.2, [](const BenchmarkCase& each) { return each.problem.batch > 512; });
  has(0.02, 0.2, [](const BenchmarkCase& each) { return each.problem.kv_len > 65'536; });
  std::set<std::uint32_t> latent;
  std::set<std::uint32_t> query_tokens;
  for (const BenchmarkCase& each : cases) {
    query_tokens.insert(each.problem.q_len);
    if (each.problem.is_mla_generation()) latent.insert(each.problem.heads_q);
  }
  CHECK(latent == std::set<std::uint32_t>{8, 16, 32, 64, 128});
  CHECK(query_tokens == std::set<std::uint32_t>{1, 2, 3, 4, 5, 8, 16});
}
