// SPDX-License-Identifier: Apache-2.0
// run_attention_gpu_test runs shared prefixes on a GPU.
#include "benchmark_setting.hpp"

#include <cubinet/session/checked_shared_prefix.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

using test::ok;

AttentionProblem two_sequences() {
  AttentionProblem problem = test::small_case().problem;  // of 2 sequences of 40 tokens
  problem.kv_lengths = {40, 33};
  return problem;
}

TEST_CASE("The tokens of a shared prefix are no own tokens of any sequence") {
  const SharedPrefixProblem problem = ok(one_prefix_problem(two_sequences(), 30));
  CHECK(problem.own.kv_len == 10);
  CHECK(problem.own.kv_lengths == std::vector<std::int32_t>{10, 3});
  CHECK(problem.prefix_len == 30);
  CHECK(problem.prefix_lengths == std::vector<std::int32_t>{30});
  const Error too_long = one_prefix_problem(two_sequences(), 34).error();
  CHECK(too_long.message == "a shared prefix of 34 tokens is longer than a sequence, which has 33");
  CHECK(too_long.remedy == "share no more tokens than the shortest sequence has");
  const Error no_own_tokens = one_prefix_problem(two_sequences(), 41).error();
  CHECK(no_own_tokens.code == ErrorCode::invalid_argument);
  CHECK(no_own_tokens.remedy == "share at most 39 tokens");
  AttentionProblem prompts = two_sequences();
  prompts.q_len = prompts.kv_len;
  CHECK(one_prefix_problem(prompts, 1).error().remedy ==
        "reduce `AttentionProblem::q_len`, or attend without a shared prefix");
  AttentionProblem append = two_sequences();
  append.append.emplace();
  append.append->rope_dim = 64;
  CHECK(ok(one_prefix_problem(append, 30)).own.append->positions);
  AttentionProblem window = two_sequences();
  window.window = 20;
  CHECK(check_shared_prefix(ok(one_prefix_problem(window, 30))).error().code == ErrorCode::unsupported);
}

TEST_CASE("A plan without lengths knows neither those of the prefixes nor those of the own tokens") {
  const SharedPrefixProblem known = ok(one_prefix_problem(two_sequences(), 30));
  const SharedPrefixProblem unknown = without_lengths(known);
  CHECK(unknown.own.kv_lengths.empty());
  CHECK(unknown.prefix_lengths.empty());
  CHECK(unknown.prefix_len == known.prefix_len);
  CHECK(unknown.own.kv_len == known.own.kv_len);
}

TEST_CASE("A run over a shared prefix is compared with attention over both parts") {
  const test::BenchmarkSetting setting;
  const auto device = ok(setting.session->device(0));
  const SharedPrefixProblem problem = ok(one_prefix_problem(two_sequences(), 30));
  const SharedPrefixCase made = ok(make_shared_prefix_case(
      setting.session->runtime(), device, problem, problem.own.kv_lengths, /*seed=*/1, /*threads=*/1));
  CHECK(made.work.kv_bytes == (30 + 10 + 3) * 2 * 2 * 64 * 2);
  CHECK(made.work.operations == attention_work(two_sequences(), {40, 33}).operations);
  const SharedPrefixPlan plan = ok(setting.session->plan(problem, DeviceFacts::of(device->properties())));
  const CheckedSharedPrefix checked =
      ok(run_checked(setting.session->runtime(), device, plan, made, /*copies=*/2));
  // The stub computes nothing.
  CHECK(checked.verdict.correct() == (setting.stub.launch == nullptr));
  // The second copy of the pool has page tables of its own.
  const auto first = checked.tensors(0);
  const auto second = checked.tensors(1);
  CHECK(second.prefix_page_table.address == first.prefix_page_table.address + first.prefix_page_table.bytes);
  CHECK(second.own.page_table.address == first.own.page_table.address + first.own.page_table.bytes);
}

}  // namespace
}  // namespace cubinet
