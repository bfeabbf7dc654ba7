// SPDX-License-Identifier: Apache-2.0
#include "benchmark/invariance_workloads.hpp"

#include "support/ok.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace cubinet;
using test::contains;
using test::ok;

namespace {

AttentionProblem given_problem(std::uint32_t kv_len) {
  AttentionProblem problem;
  problem.batch = 16;
  problem.kv_len = kv_len;
  problem.heads_q = 8;
  problem.heads_kv = 2;
  return problem;
}

}  // namespace

TEST_CASE("a compared problem keeps what bits depend on and drops the rest") {
  AttentionProblem given = given_problem(1000);
  given.prefill = given.ragged_q = given.sinks = true;
  given.q_len = 100;
  given.layout = QkvLayout::contiguous_kv;
  given.numerics = AttentionNumerics::invariant;
  given.window = 300;
  given.soft_cap = 20;
  AttentionProblem wanted = given_problem(1000);
  wanted.sinks = true;
  wanted.window = 300;
  wanted.soft_cap = 20;
  CHECK(ok(invariance_problem(given)) == wanted);
  given.tokens_per_page = 0;  // as the tool states contiguous KV
  CHECK(ok(invariance_problem(given)) == wanted);
  given.kv_len = given.q_len = 15;
  CHECK(contains(invariance_problem(given).error().message, "AttentionProblem::kv_len"));
  given = given_problem(1000);
  given.mask = AttentionMask::dense;
  CHECK(contains(invariance_problem(given).error().message, "AttentionProblem::mask"));
  given = given_problem(1000);
  given.heads_kv = 3;
  CHECK(contains(invariance_problem(given).error().message, "AttentionProblem::heads_q"));
}

TEST_CASE("the first run is the whole prompt, and every run fits its problem") {
  for (const std::uint32_t length : {16U, 511U, 2611U, 40'000U}) {
    CAPTURE(length);
    const auto workloads = invariance_workloads(ok(invariance_problem(given_problem(length))), 4);
    REQUIRE(workloads.front().parts.size() == 1);
    CHECK(workloads.front().parts[0].begin == 0);
    CHECK(workloads.front().parts[0].end == length);
    std::map<std::string, std::size_t> runs;
    for (const InvarianceWorkload& workload : workloads) {
      const AttentionProblem& problem = workload.problem;
      CAPTURE(workload.stage);
      ++runs[workload.stage];
      CHECK(check_problem(problem).has_value());
      CHECK(problem.batch == workload.parts.size());
      CHECK(workload.parts[0].prompt == 0);
      std::set<std::size_t> counts;
      for (const PromptPart& part : workload.parts) {
        CHECK(part.begin < part.end);
        CHECK(part.end <= problem.kv_len);
        CHECK(part.prompt < kInvariancePrompts);
        CHECK(part.end - part.begin <= problem.q_len);
        counts.insert(part.end - part.begin);
      }
      CHECK(problem.ragged_q == (counts.size() > 1));
      CHECK(*counts.rbegin() == problem.q_len);
      if (contains(workload.stage, "batch")) CHECK(problem.batch == 16);
    }
    for (const auto& stage : runs) {
      CAPTURE(stage.first);
      CHECK(stage.second <= 8);
    }
    CHECK(runs.count("chunks of 512") == (length > 512 ? 1 : 0));
    CHECK(runs["decode"] == runs["decode in a batch"]);
    CHECK(runs["verification"] == runs["verification in a batch"]);
  }
}

TEST_CASE("chunks of a short prompt cover it, and each stage of a long one includes its end") {
  const auto workloads = invariance_workloads(ok(invariance_problem(given_problem(2611))), 4);
  std::size_t covered = 0;
  std::set<std::string> ended;
  for (const InvarianceWorkload& workload : workloads) {
    const PromptPart& part = workload.parts.front();
    if (workload.stage == "chunks of 512") covered += part.end - part.begin;
    if (part.end == 2611) ended.insert(workload.stage);
  }
  CHECK(covered == 2611);
  const auto all = std::set<std::string>{
      "whole prompt", "chunks of 512",           "chunks of 1000", "other pages",      "beside other prompts",
      "verification", "verification in a batch", "decode",         "decode in a batch"};
  CHECK(ended == all);
}

TEST_CASE("a problem of prefill alone is decoded by prefill, and only its prefill is timed") {
  AttentionProblem given = given_problem(1000);
  given.head_dim_qk = 192;
  const AttentionProblem problem = ok(invariance_problem(given));
  for (const InvarianceWorkload& workload : invariance_workloads(problem, 4))
    CHECK(workload.problem.prefill);
  const auto timings = invariance_timings(problem);
  REQUIRE(timings.size() == 2);
  CHECK(timings[0].problem.q_len == 1000);
  CHECK(timings[1].problem.q_len == 512);
  CHECK(timings[1].problem.prefill);
}

TEST_CASE("a prompt, a chunk, verification and decode are timed") {
  const auto timings = invariance_timings(ok(invariance_problem(given_problem(1000))));
  REQUIRE(timings.size() == 4);
  CHECK(timings[0].problem.batch == 1);
  CHECK(timings[2].problem.batch == 16);
  CHECK(timings[2].problem.q_len == 8);
  CHECK_FALSE(timings[3].problem.prefill);
  for (const InvarianceTiming& timing : timings)
    CHECK(check_problem(timing.problem).has_value());
  CHECK(invariance_timings(ok(invariance_problem(given_problem(500)))).size() == 3);
}
