// SPDX-License-Identifier: Apache-2.0
// tests/cli/golden_launches_test.cpp compares the records with the publisher's launches.
#include "attention/backend_fixture.hpp"

#include <cubinet/session/launch_record.hpp>

using namespace cubinet;
using test::Known;

namespace {

AttentionPlan published_plan() {
  AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  problem.kv_order = KvOrder::hnd;
  std::vector<KernelRow> rows = test::published_rows(problem);
  for (KernelRow& row : rows)
    row.layout = "0.6.13";
  return test::plan_of(problem, "published", Known::on(test::kB200, rows), /*launches=*/true);
}

}  // namespace

TEST_CASE("a record holds the launches of a plan and the inputs of its tensor maps") {
  const AttentionPlan plan = published_plan();
  const auto tensors = made_up_tensors(plan, {});
  REQUIRE(tensors);
  const nlohmann::json record = launch_record(plan, *tensors);
  REQUIRE(record["launches"].size() == plan.steps.size());
  const PlanStep& main = plan.steps[plan.attention_step()];
  const nlohmann::json& launch = record["launches"][plan.attention_step()];
  CHECK(launch["function"] == main.entry_point);
  CHECK(launch["grid"] == nlohmann::json(main.grid));
  CHECK(launch["runtime"] == false);
  CHECK(launch["params"].get<std::string>().size() == 2 * main.arguments->size());
  REQUIRE_FALSE(record["tensor_maps"].empty());
  CHECK(record["tensor_maps"][0]["address"] == tensors->q.address);
}

TEST_CASE("given addresses replace the made up ones") {
  const auto tensors = made_up_tensors(published_plan(), {{"q", 0x7f0000000000}});
  REQUIRE(tensors);
  CHECK(tensors->q.address == 0x7f0000000000);
  CHECK(tensors->k.address != tensors->q.address);
}

TEST_CASE("addresses that a run would refuse are refused") {
  const AttentionPlan plan = published_plan();
  for (const char* tensor : {"q", "scratch", "kv_lengths"}) {
    const auto tensors = made_up_tensors(plan, {{tensor, 0x7f0000000002}});
    REQUIRE_FALSE(tensors);
    CHECK(tensors.error().code == ErrorCode::invalid_argument);
    CHECK(tensors.error().message.find(tensor) == 0);
    CHECK(tensors.error().message.find("multiple of") != std::string::npos);
  }
  CHECK(made_up_tensors(plan, {{"kv_lengths", 0x7f0000000004}}));
}

TEST_CASE("addresses of tensors that no launch reads are refused") {
  const AttentionPlan plan = published_plan();
  for (const std::string tensor : {"kv_offsets", "k_head_scales", "new_k"}) {
    const auto tensors = made_up_tensors(plan, {{tensor, 0x7f0000000000}});
    REQUIRE_FALSE(tensors);
    CHECK(tensors.error().message == tensor + " is given, but the plan's kernels do not read it");
  }
  const std::uint64_t made_up = made_up_tensors(plan, {})->q.address;
  CHECK(made_up_tensors(plan, {{"q", made_up}}));
  AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  for (const KvScales scales : {KvScales::none, KvScales::head}) {
    problem.kv_scales = scales;
    const AttentionPlan ours =
        test::plan_of(problem, "templates", Known::on(test::kH200, {}), /*launches=*/true);
    CHECK(bool(made_up_tensors(ours, {{"v_head_scales", 0x7f0000000000}})) == (scales == KvScales::head));
  }
}

TEST_CASE("the address of an unknown tensor is refused with the names of all tensors") {
  const auto tensors = made_up_tensors(published_plan(), {{"queries", 1}});
  REQUIRE_FALSE(tensors);
  CHECK(tensors.error().code == ErrorCode::invalid_argument);
  CHECK(tensors.error().message == "attention has no tensor 'queries'");
  CHECK(tensors.error().remedy.find("cos_sin") != std::string::npos);
}
