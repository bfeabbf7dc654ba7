// SPDX-License-Identifier: Apache-2.0
#include "decode_fixture.hpp"
#include "fake_backend.hpp"
#include "support/ok.hpp"

#include <cubinet/attention/tuning_candidates.hpp>

#include <set>

namespace cubinet {
namespace {

using namespace test;
using decode::llama;

PlanRequest request_of(const AttentionProblem& problem) {
  return decode::request(problem);
}

std::string kernel_of(const AttentionPlan& plan) {
  return std::get<KernelSpec>(plan.steps[plan.attention_step()].kernel).to_string();
}

TEST_CASE("what the model chooses is measured first, with kernels and splits beside it") {
  const PlanRequest request = request_of(llama(8, 8192));
  const auto candidates = ok(tuning_candidates(request, builtin_backends()));
  REQUIRE(candidates.size() > 10);
  const auto modelled = ok(plan_attention(request.problem, request.device, {}, builtin_backends()));
  CHECK(kernel_of(candidates.front()) == kernel_of(modelled));
  CHECK(candidates.front().division.kv_splits == modelled.division.kv_splits);
  std::set<std::string> kernels;
  std::set<std::string> ways;
  for (const AttentionPlan& plan : candidates) {
    CHECK(plan.launchable());
    REQUIRE(plan.request.options.kernel);
    CHECK(plan.request.options.kernel->to_string() == kernel_of(plan));
    kernels.insert(kernel_of(plan));
    ways.insert(kernel_of(plan) + std::to_string(plan.division.kv_splits) + " " +
                std::to_string(plan.steps.front().grid[0]));
  }
  CHECK(ways.size() == candidates.size());
  CHECK(kernels.size() > 4);
  CHECK(kernels.size() <= 13);
}

TEST_CASE("a candidate is planned again from its options alone") {
  const PlanRequest request = request_of(llama(8, 8192));
  for (const AttentionPlan& plan : ok(tuning_candidates(request, builtin_backends()))) {
    const auto again =
        ok(plan_attention(request.problem, request.device, {}, builtin_backends(), plan.request.options));
    CHECK(kernel_of(again) == kernel_of(plan));
    CHECK(again.steps.front().grid == plan.steps.front().grid);
    CHECK(again.workspace == plan.workspace);
  }
}

TEST_CASE("few kernels are compiled where few are wanted") {
  std::set<std::string> kernels;
  for (const AttentionPlan& plan :
       ok(tuning_candidates(request_of(llama(8, 8192)), builtin_backends(), {.kernels = 2})))
    kernels.insert(kernel_of(plan));
  CHECK(kernels.size() <= 3);
}

TEST_CASE("the kernel of the plan has other splits beside it, whatever the model estimates") {
  AttentionProblem problem = llama(2, 700);
  problem.heads_q = 8;
  problem.heads_kv = 1;
  problem.kv_lengths = {700, 700};
  const auto candidates = ok(tuning_candidates(request_of(problem), builtin_backends(),
                                               {.kernels = 1, .divisions = 8, .relative_cost = 1}));
  std::set<std::uint32_t> splits;
  for (const AttentionPlan& plan : candidates) {
    if (kernel_of(plan) == kernel_of(candidates.front())) splits.insert(plan.division.kv_splits);
  }
  CHECK(splits.size() > 4);
}

TEST_CASE("more divisions and slower estimates are candidates where the limits are wider") {
  const PlanRequest request = request_of(llama(8, 8192));
  const auto usual = ok(tuning_candidates(request, builtin_backends())).size();
  CHECK(ok(tuning_candidates(request, builtin_backends(), {.divisions = 2})).size() < usual);
  CHECK(ok(tuning_candidates(request, builtin_backends(), {.divisions = 8})).size() > usual);
  CHECK(ok(tuning_candidates(request, builtin_backends(), {.relative_cost = 1.02})).size() < usual);
}

TEST_CASE("a problem that nothing launches has no candidates, and every backend gives its reason") {
  AttentionProblem problem = llama(8, 8192);
  problem.head_dim_qk = problem.head_dim_v = 112;
  const auto refused = tuning_candidates(request_of(problem), builtin_backends());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find("templates: ") != std::string::npos);
  CHECK(refused.error().message.find("published: ") != std::string::npos);
}

TEST_CASE("every backend that serves is a candidate") {
  AttentionBackends backends = builtin_backends();
  ok(backends.add(std::make_shared<const FakeBackend>("mine")));
  std::set<std::string> names;
  for (const AttentionPlan& plan : ok(tuning_candidates(request_of(llama(8, 8192)), backends)))
    names.emplace(plan.backend_name());
  CHECK(names == std::set<std::string>{"mine", "templates"});
}

}  // namespace
}  // namespace cubinet
