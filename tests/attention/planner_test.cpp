// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/attention/planner.hpp>
#include <cubinet/kernel_explanation.hpp>
#include <cubinet/loader/driver.hpp>
#include <cubinet/runtime.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

namespace {

const AttentionProblem kProblem{.batch = 4, .kv_len = 2048, .heads_q = 32, .heads_kv = 8};

// The rows of one build: that of the plan that would be made.
DeviceRows rows_with(const AttentionPlan& plan) {
  auto row = std::make_shared<KernelRow>(plan.row);
  row->digest.bytes[0] = std::byte{1};
  DeviceRows rows;
  rows.rows.push_back({std::move(row), std::make_shared<CubinRecord>()});
  return rows;
}

}  // namespace

TEST_CASE("without a compiler a plan that needs one gives way to a plan over builds that exist") {
  const DeviceFacts device = ok(DeviceFacts::named("sm_90"));
  const AttentionPlanner compiles = ok(AttentionPlanner::over({}, device));
  const AttentionPlan best = ok(compiles.plan(kProblem));
  CHECK_FALSE(best.exists());
  // Another tile is built than the best one.
  AttentionProblem wide = kProblem;
  wide.q_len = 8;
  const AttentionPlan other = ok(compiles.plan(wide));
  REQUIRE(other.row.selector.tile_size_q != best.row.selector.tile_size_q);
  const AttentionPlanner existing = ok(AttentionPlanner::over(rows_with(other), device, {}, false));
  CHECK(ok(existing.plan(kProblem)).exists());
  const AttentionPlanner nothing = ok(AttentionPlanner::over({}, device, {}, false));
  CHECK_FALSE(ok(nothing.plan(kProblem)).exists());  // the best plan tells what is missing
}

TEST_CASE("without a compiler a plan has one kernel where the one that combines does not exist") {
  const DeviceFacts device = ok(DeviceFacts::named("sm_90"));
  const AttentionProblem split{.batch = 1, .kv_len = 2048, .heads_q = 64, .heads_kv = 8};
  const AttentionPlan best = ok(ok(AttentionPlanner::over({}, device)).plan(split));
  REQUIRE(best.steps.size() == 2);
  // A plan of one kernel is so much slower that a planner with a compiler takes two.
  REQUIRE(ok(ok(AttentionPlanner::over(rows_with(best), device)).plan(split)).steps.size() == 2);
  const AttentionPlan plan = ok(ok(AttentionPlanner::over(rows_with(best), device, {}, false)).plan(split));
  CHECK(plan.exists());
  CHECK(plan.steps.size() == 1);
}

TEST_CASE("a request has the rows, the device and whether kernels can be compiled") {
  const DeviceFacts device = ok(DeviceFacts::named("sm_80"));
  const AttentionPlanner planner = ok(AttentionPlanner::over({}, device, "NVIDIA A100", false));
  const PlanRequest request = planner.request(kProblem);
  CHECK(request.device.sm_count == device.sm_count);
  CHECK_FALSE(request.options.may_compile);
  CHECK(request.kernels.device_name() == "NVIDIA A100");
  CHECK(planner.device().capability == device.capability);
  CHECK(planner.kernels().device() == device.capability);
  CHECK(planner.backends().names().size() == 2);
}

TEST_CASE("a planner of a Runtime plans with the rows of its stores") {
  const auto runtime = ok(Runtime::create({}));
  DeviceProperties properties;
  properties.capability = {9, 0};
  properties.multiprocessors = 132;
  CHECK(ok(ok(AttentionPlanner::create(*runtime, properties)).plan(kProblem)).launchable());
  CHECK(ok(AttentionPlanner::create(*runtime, ok(DeviceFacts::named("sm_90"))))
            .kernels()
            .tuning()
            .rows()
            .empty());
}
