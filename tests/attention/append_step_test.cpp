// SPDX-License-Identifier: Apache-2.0
#include "append/append_step.hpp"

#include "backend_fixture.hpp"

#include <cubinet/kernel_templates/template_catalog.hpp>

namespace cubinet {
namespace {

AttentionProblem append_of(DataType kv) {
  AttentionProblem problem = test::generation(4, 2, 8192, 32, 4);
  problem.data_type_k = problem.data_type_v = kv;
  problem.append.emplace().rope_dim = 128;
  return problem;
}

AttentionPlan appending_plan(const AttentionProblem& problem) {
  return test::plan_of(problem, "templates", test::Known::on(test::kH200), /*launches=*/true);
}

TEST_CASE("a plan that appends begins with the append, and what attends starts early behind it") {
  const AttentionPlan plan = appending_plan(append_of(DataType::e4m3));
  REQUIRE(plan.steps.size() >= 2);
  const PlanStep& append = plan.steps[0];
  CHECK(append.entry_point == "attention_append");
  CHECK(std::get<KernelSpec>(append.kernel).to_string().find("dtype_kv=e4m3") != std::string::npos);
  CHECK(append.grid == std::array<std::uint32_t, 3>{2, (32 + 8) * 8 / 128 + 1, 4});
  CHECK_FALSE(append.starts_early);
  REQUIRE(plan.attention_step() == 1);
  CHECK(plan.steps[1].entry_point == "attention_decode");
  CHECK(plan.steps[1].starts_early);
  CHECK(plan.row.function_name == "attention_decode");
  CHECK_FALSE(plan.request.options.starts_early);

  const AttentionPlan without = appending_plan(test::generation(4, 2, 8192, 32, 4));
  CHECK(without.attention_step() == 0);
}

TEST_CASE("what attends for long starts when the append has ended") {
  for (const auto& [batch, early] : std::vector<std::pair<std::uint32_t, bool>>{{4, true}, {256, false}}) {
    AttentionProblem problem = append_of(DataType::bf16);
    problem.batch = batch;
    const AttentionPlan plan = appending_plan(problem);
    REQUIRE(plan.cost.in_microseconds);
    CHECK_FALSE(plan.steps[0].starts_early);
    CHECK(plan.steps[1].starts_early == early);
  }
}

TEST_CASE("the template of the append knows every kernel that is asked for, and its block") {
  const auto found = TemplateCatalog::builtin()->find("attention_append");
  REQUIRE(found);
  for (const DataType rows : {DataType::bf16, DataType::fp16}) {
    for (const DataType kv : {rows, DataType::e4m3}) {
      for (const bool interleaved : {false, true}) {
        AttentionProblem problem = append_of(kv);
        problem.data_type_q = problem.data_type_o = problem.append->data_type = rows;
        problem.append->interleaved = interleaved;
        const PlanStep step = appending_plan(problem).steps[0];
        const auto resolved = (*found)->resolve(std::get<KernelSpec>(step.kernel));
        REQUIRE_MESSAGE(resolved.has_value(), resolved.error().to_line());
        const auto entries = (*found)->entry_points(*resolved);
        REQUIRE(entries);
        CHECK(entries->front().name == step.entry_point);
        CHECK(entries->front().threads == step.threads);
        CHECK(entries->front().parameter_bytes == step.arguments->size());
        CHECK(entries->front().dynamic_shared_bytes == step.shared_bytes);
        CHECK(entries->front().programmatic_launch);
      }
    }
  }
}

TEST_CASE("what does nothing but append needs no backend, whatever its attention would be") {
  AttentionProblem problem = append_of(DataType::e4m3);
  problem.prefill = true;
  problem.q_len = 4096;
  problem.ragged_q = true;
  problem.append->attends = false;
  const auto resolution = resolve_attention(problem, test::kH200, {}, {}, {});
  REQUIRE(resolution);
  REQUIRE(resolution->plan);
  CHECK(resolution->plan->backend_name() == "append");
  CHECK(resolution->plan->steps.size() == 1);
  CHECK(resolution->plan->steps[0].grid[0] == 4096);
  CHECK(resolution->plan->attention_step() == 0);
  CHECK(resolution->plan->rules.reads_offsets);
  CHECK(resolution->plan->workspace == WorkspaceSizes{});
}

TEST_CASE("an append of more heads than a grid holds is refused") {
  AttentionProblem problem = append_of(DataType::bf16);
  problem.heads_q = problem.heads_kv = 65'535;
  problem.append->attends = false;
  const auto refused = resolve_attention(problem, test::kH200, {}, {}, {});
  REQUIRE(refused);
  problem.head_dim_qk = problem.head_dim_v = 1024;
  CHECK_FALSE(resolve_attention(problem, test::kH200, {}, {}, {}));
}

}  // namespace
}  // namespace cubinet
