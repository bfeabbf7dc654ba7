// SPDX-License-Identifier: Apache-2.0
#include "benchmark_setting.hpp"

#include <cubinet/session/benchmark.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;
using test::BenchmarkSetting;
using test::ok;
using test::small_case;

TEST_CASE("every case is measured, a wrong result is found, and the error of one case is in its row") {
  const BenchmarkSetting setting;
  if (setting.stub.missing()) return;
  BenchmarkOptions options;
  options.rounds = 3;
  options.cases = {small_case(), small_case(112)};
  options.cases[0].goals = {"us:1000000"};
  options.cases[0].backends = {"templates", "published"};
  std::vector<std::size_t> rows;
  options.progress = [&](const BenchmarkProgress& progress) {
    CHECK(progress.total == 2);
    CHECK(progress.done == rows.size() + 1);
    rows.push_back(progress.latest.size());
  };
  const BenchmarkResult result = ok(benchmark(*setting.session, options));
  CHECK(rows == std::vector<std::size_t>{2, 1});
  REQUIRE(result.rows.size() == 3);
  CHECK(result.rows[0].backend == "templates");
  CHECK(result.rows[0].seconds.size() == 3);
  CHECK(result.rows[0].read_seconds.size() == 3);
  CHECK_FALSE(result.rows[0].accuracy.correct);
  REQUIRE(result.rows[0].goals.size() == 1);
  CHECK_FALSE(result.rows[0].goals[0].met);
  REQUIRE(result.rows[1].error.has_value());
  CHECK(result.rows[1].error->code == ErrorCode::unsupported);
  REQUIRE(result.rows[2].error.has_value());
  CHECK(result.rows[2].error->code == ErrorCode::unsupported);
  CHECK_FALSE(result.good());
  const auto document = nlohmann::json::parse(to_json(result));
  CHECK(document["results"][0]["correct"] == false);
  CHECK(document["results"][2]["error"]["code"] == "unsupported");
}

TEST_CASE("a case with a shared prefix that no kernel serves is a row, and the others are measured") {
  const BenchmarkSetting setting;
  if (setting.stub.missing()) return;
  BenchmarkOptions options;
  options.rounds = 1;
  options.cases = {small_case(), small_case()};
  options.cases[0].shared_prefix = 16;
  options.cases[0].problem.numerics = AttentionNumerics::invariant;
  const BenchmarkResult result = ok(benchmark(*setting.session, options));
  REQUIRE(result.rows.size() == 2);
  REQUIRE(result.rows[0].error.has_value());
  CHECK(result.rows[0].error->code == ErrorCode::unsupported);
  CHECK_FALSE(result.rows[1].error.has_value());
  CHECK_FALSE(result.good());
}

TEST_CASE("a benchmark that is cancelled keeps the finished cases alone") {
  const BenchmarkSetting setting;
  if (setting.stub.missing()) return;
  BenchmarkOptions options;
  options.rounds = 2;
  options.cases = {small_case(), small_case()};
  bool first_done = false;
  int asked = 0;
  options.progress = [&](const BenchmarkProgress&) { first_done = true; };
  // The second case has begun when this returns true.
  options.cancelled = [&] { return first_done && ++asked > 1; };
  const BenchmarkResult result = ok(benchmark(*setting.session, options));
  CHECK(result.cancelled);
  CHECK(result.rows.size() == 1);
  CHECK_FALSE(result.good());
}

TEST_CASE("cases and goals that make no sense are refused before the device is opened") {
  const auto session = ok(Session::open({}));
  const auto refused = [&](const BenchmarkCase& wrong) {
    BenchmarkOptions options;
    options.cases = {small_case(), wrong};
    options.device = 99;
    const auto result = benchmark(*session, options);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == ErrorCode::invalid_argument);
    return result.error().message;
  };
  BenchmarkCase wrong = small_case();
  wrong.where = "line 2";
  wrong.kv_lengths = {1};
  CHECK(refused(wrong) == "line 2: `BenchmarkCase::kv_lengths`: 1 lengths for a batch of 2");
  wrong.kv_lengths = {1, 41};
  CHECK(refused(wrong) == "line 2: `BenchmarkCase::kv_lengths`: 41 is not between 0 and 40");
  wrong.kv_lengths = {1, 40};
  wrong.q_lengths = {1, 1};
  CHECK(refused(wrong) ==
        "line 2: `BenchmarkCase::q_lengths` needs `AttentionProblem::ragged_q`, which is off");
  wrong.problem.ragged_q = true;
  wrong.q_lengths = {1};
  CHECK(refused(wrong) == "line 2: `BenchmarkCase::q_lengths`: 1 lengths for a batch of 2");
  wrong.q_lengths = {1, 2};
  CHECK(refused(wrong) == "line 2: `BenchmarkCase::q_lengths`: 2 is not between 0 and 1");
  wrong = small_case();
  wrong.shared_prefix = 40;
  CHECK(refused(wrong).find("a shared prefix of 40 tokens leaves no room") == 0);
  wrong.shared_prefix = 32;
  wrong.kv_lengths = {31, 40};
  CHECK(refused(wrong) == "a shared prefix of 32 tokens is longer than a sequence, which has 31");
  wrong = small_case();
  wrong.goals = {"fast"};
  CHECK(refused(wrong).find("'fast' is no goal") != std::string::npos);
  wrong = small_case();
  wrong.problem.heads_kv = 3;
  refused(wrong);
}
