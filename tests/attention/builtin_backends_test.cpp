// SPDX-License-Identifier: Apache-2.0
#include "backend_fixture.hpp"

namespace cubinet {
namespace {

TEST_CASE("every rule says when it applies and where it comes from, and names backends that there are") {
  const AttentionBackends backends = test::builtin_backends();
  CHECK_FALSE(backends.rules().empty());
  for (const BackendRule& rule : backends.rules()) {
    CHECK_FALSE(rule.condition.empty());
    CHECK_FALSE(rule.source.empty());
    for (const std::string& name : rule.order)
      CHECK(backends.find(name) != nullptr);
  }
}

TEST_CASE("the order of prompts has a source of its own") {
  const auto prompts =
      test::resolve(test::context(2, 128, 1024, 32, 4), "auto", false, test::Known::on(test::kH200));
  CHECK(test::holds(prompts.order, "attention_prefill.md"));
  const auto decode =
      test::resolve(test::generation(2, 1, 1024, 32, 4), "auto", false, test::Known::on(test::kH200));
  CHECK(test::holds(decode.order, "attention_table.json"));
}

TEST_CASE("the last rule applies to everything") {
  CHECK(test::builtin_backends().rules().back().applies(PlanRequest{}));
}

TEST_CASE("the order of the backends does not depend on whether the plan is launched") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  auto rows = test::published_rows(problem);
  const std::size_t count = rows.size();
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(rows[i]);
    rows.back().target = {9, 0, TargetKind::specific};
  }
  for (const DeviceFacts& device : {test::kH200, test::kB200, DeviceFacts{{8, 0}, 108, 0}}) {
    const test::Known known = test::Known::on(device, rows);
    CHECK(test::resolve(problem, "auto", /*launches=*/false, known).order ==
          test::resolve(problem, "auto", /*launches=*/true, known).order);
  }
}

TEST_CASE(
    "published rows that run on the device come first, and where they cannot be launched the next serves") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  const auto rows = test::published_rows(problem);
  const test::Known here = test::Known::on(test::kB200, rows);
  const test::Known elsewhere = test::Known::on(test::kH200, rows);
  CHECK(test::plan_of(problem, "auto", here).backend_name() == "published");
  CHECK(test::plan_of(problem, "auto", elsewhere).backend_name() == "templates");
  const AttentionResolution launch = test::resolve(problem, "auto", /*launches=*/true, here);
  REQUIRE(launch.plan);
  CHECK(launch.plan->backend_name() == "templates");
  // These rows are of no header that is known.
  REQUIRE(launch.declined.size() == 1);
  CHECK(test::holds(launch.declined[0].reason, "layout"));
  auto known = rows;
  for (KernelRow& row : known)
    row.layout = "0.6.13";
  const AttentionResolution launched =
      test::resolve(problem, "auto", /*launches=*/true, test::Known::on(test::kB200, known));
  REQUIRE(launched.plan);
  CHECK(launched.plan->backend_name() == "published");
  const AttentionResolution hopper = test::resolve(problem, "auto", /*launches=*/true, elsewhere);
  CHECK(hopper.order != launch.order);
  CHECK(test::holds(hopper.order, "H200"));
}

}  // namespace
}  // namespace cubinet
