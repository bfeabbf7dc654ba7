// SPDX-License-Identifier: Apache-2.0
#include "shared_prefix_plan.hpp"

#include "support/ok.hpp"

#include <cubinet/kernel_explanation.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace cubinet;
using test::ok;

namespace {

SharedPrefixProblem system_prompt() {
  SharedPrefixProblem problem;
  problem.own = {.batch = 64, .kv_len = 1024, .heads_q = 32, .heads_kv = 8};
  problem.prefix_len = 32'768;
  return problem;
}

AttentionPlanner hopper_planner() {
  return ok(AttentionPlanner::over({}, ok(DeviceFacts::named("sm_90"))));
}

std::string kernel_of(const AttentionPlan& plan) {
  return std::get<KernelSpec>(plan.steps[plan.attention_step()].kernel).name;
}

}  // namespace

TEST_CASE("a group is one ragged sequence of all its query tokens, which see the whole prefix") {
  SharedPrefixProblem problem = system_prompt();
  problem.own.q_len = 3;
  problem.own.sinks = true;
  problem.own.soft_cap = 30;
  problem.own.kv_lengths.assign(64, 9);
  problem.own.append.emplace();
  problem.groups = 4;
  problem.prefix_lengths = {5, 0, 7, 32'768};
  SharedPrefixParts parts = shared_prefix_parts(problem);
  CHECK(parts.prefix.batch == 4);
  CHECK(parts.prefix.q_len == 64 * 3);
  CHECK(parts.prefix.kv_len == 32'768);
  CHECK(parts.prefix.kv_lengths == problem.prefix_lengths);
  CHECK(parts.prefix.mask == AttentionMask::dense);
  CHECK(parts.prefix.ragged_q);
  CHECK(parts.prefix.lse);
  CHECK_FALSE(parts.prefix.sinks);
  CHECK_FALSE(parts.prefix.append);
  CHECK(parts.prefix.soft_cap == problem.own.soft_cap);
  CHECK(parts.own.sinks);
  CHECK(parts.own.lse);
  CHECK(parts.own.append);
  CHECK(parts.own.mask == AttentionMask::causal);
  CHECK(parts.own.kv_lengths == problem.own.kv_lengths);
  CHECK(parts.merge.heads == 32);
  CHECK(parts.merge.data_type == DataType::bf16);
  problem.group_tokens = 48;
  CHECK(shared_prefix_parts(problem).prefix.q_len == 48);
}

TEST_CASE("the parts of an output of eight bits have sixteen, and the merge narrows them") {
  SharedPrefixProblem problem = system_prompt();
  problem.own.data_type_o = DataType::e4m3;
  CHECK(shared_prefix_parts(problem).own.data_type_o == DataType::bf16);
  CHECK(shared_prefix_parts(problem).merge.data_type_o == DataType::e4m3);
  problem.own.data_type_q = DataType::fp16;
  CHECK(shared_prefix_parts(problem).prefix.data_type_o == DataType::fp16);
  problem.own.data_type_o = DataType::fp32;
  CHECK(shared_prefix_parts(problem).merge.data_type == DataType::fp32);
}

TEST_CASE("both parts have the scales of KV heads, and scales of each sequence are declined") {
  SharedPrefixProblem problem = system_prompt();
  problem.own.data_type_k = problem.own.data_type_v = DataType::e4m3;
  problem.own.kv_scales = KvScales::head;
  CHECK(shared_prefix_parts(problem).own.kv_scales == KvScales::head);
  CHECK(shared_prefix_parts(problem).prefix.kv_scales == KvScales::head);
  CHECK(check_shared_prefix(problem));
  problem.own.kv_scales = KvScales::sequence;
  const auto declined = check_shared_prefix(problem);
  REQUIRE_FALSE(declined);
  CHECK(declined.error().code == ErrorCode::unsupported);
  CHECK(test::holds(declined.error().message, "scales of its own"));
}

TEST_CASE("the plan of a shared prefix takes a quarter of the estimate without one at most") {
  const AttentionPlanner planner = hopper_planner();
  const SharedPrefixProblem problem = system_prompt();
  const SharedPrefixPlan plan = ok(plan_shared_prefix(problem, planner));
  AttentionProblem whole = problem.own;
  whole.kv_len += problem.prefix_len;
  REQUIRE(plan.prefix.plan.cost.in_microseconds);
  CHECK(plan.time() > 0);
  CHECK(plan.time() < 0.25 * ok(planner.plan(whole)).cost.time);
  CHECK(plan.prefix.plan.request.problem == plan.prefix.problem);
  CHECK(plan.own.plan.request.problem == plan.own.problem);
}

TEST_CASE("only a short prefix starts early, and a group of more rows than decode takes is prefill") {
  const AttentionPlanner planner = hopper_planner();
  SharedPrefixProblem problem = system_prompt();
  problem.prefix_len = 131'072;
  const SharedPrefixPlan slow = ok(plan_shared_prefix(problem, planner));
  CHECK_FALSE(slow.prefix.plan.steps.front().starts_early);
  problem.prefix_len = 256;
  const SharedPrefixPlan few = ok(plan_shared_prefix(problem, planner));
  CHECK(few.prefix.plan.steps.front().starts_early);
  problem.own.batch = 1024;
  const SharedPrefixPlan many = ok(plan_shared_prefix(problem, planner));
  CHECK(kernel_of(many.prefix.plan).find("attention_prefill") == 0);
  CHECK(kernel_of(many.own.plan).find("attention_decode") == 0);
}

TEST_CASE("options of kernels belong to the own tokens, and the others to both parts") {
  PlanOptions options;
  options.splits = 3;
  options.may_load = false;
  const SharedPrefixPlan plan = ok(plan_shared_prefix(system_prompt(), hopper_planner(), options));
  CHECK(plan.own.plan.division.kv_splits == 3);
  CHECK_FALSE(plan.prefix.options.splits);
  CHECK_FALSE(plan.prefix.options.may_load);
  CHECK_FALSE(plan.merge.may_load);
  options.splits.reset();
  options.kernel = std::get<KernelSpec>(plan.own.plan.steps.front().kernel);
  const SharedPrefixPlan forced = ok(plan_shared_prefix(system_prompt(), hopper_planner(), options));
  CHECK(std::get<KernelSpec>(forced.own.plan.steps.front().kernel) == *options.kernel);
  CHECK_FALSE(forced.prefix.options.kernel);
}

TEST_CASE("what has no meaning over a shared prefix is refused with the reason") {
  const auto refused = [](ErrorCode code, const std::string& word,
                          const std::function<void(SharedPrefixProblem&)>& spoil) {
    SharedPrefixProblem problem = system_prompt();
    spoil(problem);
    const auto checked = check_shared_prefix(problem);
    CAPTURE(word);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == code);
    CHECK_MESSAGE(checked.error().to_line().find(word) != std::string::npos, checked.error().to_line());
    CHECK_FALSE(plan_shared_prefix(problem, hopper_planner()));
  };
  using P = SharedPrefixProblem;
  constexpr ErrorCode kWrong = ErrorCode::invalid_argument;
  constexpr ErrorCode kNone = ErrorCode::unsupported;
  refused(kWrong, "groups", [](P& p) { p.groups = 0; });
  refused(kWrong, "groups", [](P& p) { p.groups = 65'536; });
  refused(kWrong, "prefix_len", [](P& p) { p.prefix_len = 0; });
  refused(kWrong, "group_tokens", [](P& p) { p.group_tokens = 65; });
  refused(kWrong, "query_tokens", [](P& p) { p.query_tokens = 65; });
  refused(kWrong, "ragged_q", [](P& p) { p.query_tokens = 63; });
  refused(kWrong, "query_tokens", [](P& p) {
    p.own.batch = 65'535;
    p.own.q_len = 65'535;
    p.group_tokens = 1;
  });
  refused(kWrong, "prefix_lengths", [](P& p) { p.prefix_lengths = {1, 2}; });
  refused(kWrong, "32769", [](P& p) { p.prefix_lengths = {32'769}; });
  refused(kWrong, "-1", [](P& p) { p.prefix_lengths = {-1}; });
  refused(kNone, "paged", [](P& p) { p.own.layout = QkvLayout::contiguous_kv; });
  refused(kNone, "33792", [](P& p) { p.own.window = 33'791; });
  refused(kNone, "chunks", [](P& p) { p.own.chunk = 64; });
  refused(kNone, "sparse", [](P& p) { p.own.skips_softmax = true; });
  refused(kNone, "invariant", [](P& p) { p.own.numerics = AttentionNumerics::invariant; });
  refused(kNone, "e2m1", [](P& p) { p.own.data_type_o = DataType::e2m1; });
  refused(kNone, "only appends", [](P& p) { p.own.append.emplace().attends = false; });
  refused(kNone, "positions", [](P& p) { p.own.append.emplace().rope_dim = 64; });
}

TEST_CASE("a problem without a window has none over the longest prefix and the longest own tokens") {
  SharedPrefixProblem problem = system_prompt();
  problem.prefix_len = problem.own.kv_len = 1U << 30U;
  CHECK(check_shared_prefix(problem));
  CHECK(plan_shared_prefix(problem, hopper_planner()));
  problem.prefix_len = 1U << 31U;
  CHECK(check_shared_prefix(problem).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a window that hides nothing and a rotation by given positions are served") {
  SharedPrefixProblem problem = system_prompt();
  problem.own.window = 33'792;
  problem.own.append.emplace();
  problem.own.append->rope_dim = 64;
  problem.own.append->positions = true;
  problem.own.ragged_q = true;
  problem.own.q_len = 4;
  problem.query_tokens = 70;
  const SharedPrefixPlan plan = ok(plan_shared_prefix(problem, hopper_planner()));
  CHECK(plan.own.problem.window == kUnlimited);
  CHECK(plan.prefix.problem.q_len == 70);
  CHECK(most_tokens(problem) == 70);
}

TEST_CASE("a part without kernels is named") {
  SharedPrefixProblem problem = system_prompt();
  problem.own.heads_q = 128;
  problem.own.heads_kv = 1;
  problem.own.head_dim_qk = 576;
  problem.own.head_dim_v = 512;  // 8192 rows of a prefix are prefill, which has no latent attention
  const auto plan = plan_shared_prefix(problem, hopper_planner());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::unsupported);
  CHECK(plan.error().message.find("over the prefix: ") == 0);
  problem = system_prompt();
  problem.own.heads_q = 33;
  CHECK(plan_shared_prefix(problem, hopper_planner()).error().code == ErrorCode::invalid_argument);
}
