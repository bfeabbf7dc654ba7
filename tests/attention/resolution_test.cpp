// SPDX-License-Identifier: Apache-2.0
#include "fake_backend.hpp"

namespace cubinet {
namespace {

using test::FakeBackend;
using test::Known;

const AttentionProblem kDecode = test::generation(4, 1, 8192, 32, 4);

Result<AttentionPlan> plan_with(const AttentionBackends& backends, const AttentionProblem& problem,
                                std::string_view requested, bool launches, const Known& known) {
  PlanOptions options = known.options;
  options.backend = requested;
  options.launches = launches;
  return plan_attention(problem, known.device, known.kernels, backends, options);
}

Result<AttentionPlan> plan(const AttentionProblem& problem, std::string_view requested, bool launches,
                           const Known& known) {
  return plan_with(test::builtin_backends(), problem, requested, launches, known);
}

TEST_CASE("the request is kept beside the backend that is used, and resolved anew for each problem") {
  const Known known = Known::on(test::kB200, test::published_rows(kDecode));
  AttentionProblem other = kDecode;
  other.tokens_per_page = 32;
  const auto first = test::resolve(kDecode, "auto", /*launches=*/false, known);
  const auto second = test::resolve(other, "auto", /*launches=*/false, known);
  REQUIRE(first.plan);
  REQUIRE(second.plan);
  CHECK(first.requested == "auto");
  CHECK(second.requested == "auto");
  CHECK(first.plan->backend_name() == "published");
  CHECK(first.plan->request.problem == kDecode);
  CHECK(second.plan->backend_name() == "templates");
  CHECK(first.declined.empty());
  REQUIRE(second.declined.size() == 1);
  CHECK(second.declined[0].backend == "published");
  CHECK_FALSE(first.order.empty());
}

TEST_CASE("a named backend that declines is an error with its reason, never another backend") {
  const auto made = plan(kDecode, "published", /*launches=*/true, Known::on(test::kH200));
  REQUIRE(!made);
  CHECK(made.error().code == ErrorCode::unsupported);
  CHECK(test::holds(made.error().message, "published: there are no rows"));
  CHECK_FALSE(test::holds(made.error().message, "templates"));
}

TEST_CASE("when no backend is left the error quotes them all") {
  AttentionProblem problem = kDecode;
  problem.skips_softmax = true;
  const auto made = plan(problem, "auto", /*launches=*/true, Known::on(test::kH200));
  REQUIRE(!made);
  CHECK(test::holds(made.error().message, "templates: decode attention skips no softmax"));
  CHECK(test::holds(made.error().message, "published: there are no rows"));
}

TEST_CASE("a name that is no backend is refused with those that there are") {
  const auto made = plan(kDecode, "fa3", /*launches=*/false, Known::on(test::kH200));
  REQUIRE(!made);
  CHECK(made.error().code == ErrorCode::invalid_argument);
  CHECK(test::holds(made.error().to_line(), "auto, templates, published"));
}

TEST_CASE("a problem, device or table that makes no sense is refused before any backend is asked") {
  AttentionProblem problem = kDecode;
  problem.heads_kv = 7;
  const Known known = Known::on(test::kH200);
  CHECK_FALSE(plan(problem, "auto", /*launches=*/false, known));
  CHECK_FALSE(plan(kDecode, "auto", /*launches=*/false, Known{}));
  Known mixed = known;
  mixed.device = test::kB200;
  const auto refused = plan(kDecode, "auto", /*launches=*/false, mixed);
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("backends are asked in the order of the rule, and each reason is kept") {
  AttentionBackends backends;
  REQUIRE(backends.add(std::make_shared<FakeBackend>("second")));
  REQUIRE(backends.add(std::make_shared<FakeBackend>("first", "it rains")));
  backends.add_rule(
      {"always", [](const PlanRequest&) { return true; }, {"first", "second"}, "a measurement"});
  const auto resolution = resolve_attention(kDecode, test::kH200, {}, backends);
  REQUIRE(resolution);
  REQUIRE(resolution->plan);
  CHECK(resolution->plan->backend_name() == "second");
  CHECK(resolution->order == "a measurement");
  REQUIRE(resolution->declined.size() == 1);
  CHECK(resolution->declined[0].reason == "it rains");
}

TEST_CASE("a backend that a program adds is found by its name, and under auto behind those of the rule") {
  AttentionBackends backends = test::builtin_backends();
  REQUIRE(backends.add(std::make_shared<FakeBackend>("mine")));
  const Known known = Known::on(test::kH200);
  const auto named = plan_with(backends, kDecode, "mine", /*launches=*/true, known);
  REQUIRE(named);
  CHECK(named->backend_name() == "mine");
  CHECK(plan_with(backends, kDecode, "auto", /*launches=*/true, known)->backend_name() == "templates");
  const AttentionProblem odd = test::generation(8, 1, 4096, 128, 128, 112, 112);
  const auto left = plan_with(backends, odd, "auto", /*launches=*/true, known);
  REQUIRE(left);
  CHECK(left->backend_name() == "mine");
  backends.add_rule({"always", [](const PlanRequest&) { return true; }, {"mine"}, "mine is new"});
  CHECK(plan_with(backends, kDecode, "auto", /*launches=*/true, known)->backend_name() == "mine");
}

}  // namespace
}  // namespace cubinet
