// SPDX-License-Identifier: Apache-2.0
#include "backend_fixture.hpp"

namespace cubinet {
namespace {

std::string reason(const AttentionProblem& problem, const BackendContext& context) {
  return test::decline_of(problem, kImportedBackend, context);
}

TEST_CASE("an imported row is chosen, sized and traced, and says why it is not launched") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const BackendContext context = BackendContext::create(test::kB200, test::published_rows(problem));
  const auto resolution = test::survey(problem, "imported", AttentionPurpose::select, context);
  REQUIRE(resolution.plan);
  const AttentionPlan& plan = *resolution.plan;
  CHECK(plan.exists());
  CHECK_FALSE(plan.launchable());
  CHECK(test::holds(*plan.not_launchable, "another project"));
  CHECK(plan.row->selector == plan.kernel.selector);
  CHECK(plan.launch.ctas_kv == 32);
  CHECK(plan.workspace.scratch_bytes > 0);
  REQUIRE(plan.selection);
  CHECK(plan.selection->trace.pass_count == 1);
  CHECK_FALSE(plan.decode);
}

TEST_CASE("a plan keeps the row that it names alive, and so does a decline") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  for (const AttentionPurpose purpose : {AttentionPurpose::select, AttentionPurpose::launch}) {
    std::optional<AttentionResolution> resolution;
    {
      const BackendContext context = BackendContext::create(test::kB200, test::published_rows(problem));
      resolution.emplace(test::survey(problem, "imported", purpose, context));
    }
    const auto& selection =
        resolution->plan ? resolution->plan->selection : resolution->declined.front().selection;
    REQUIRE(selection);
    CHECK(test::holds(selection->row->function_name, "swaps32_gmem_static"));
  }
}

TEST_CASE("asked to launch, the imported backend names the kernel that it would have chosen") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const BackendContext context = BackendContext::create(test::kB200, test::published_rows(problem));
  const auto resolution = test::survey(problem, "imported", AttentionPurpose::launch, context);
  CHECK_FALSE(resolution.plan);
  REQUIRE(resolution.declined.size() == 1);
  CHECK(test::holds(resolution.declined[0].reason, "swaps32_gmem_static_sm_100f"));
  CHECK(test::holds(resolution.declined[0].reason, "cannot launch"));
}

TEST_CASE("no rows, rows for other devices and a problem without a row are three reasons") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  CHECK(test::holds(reason(problem, BackendContext::create(test::kB200, {})), "no rows of published"));
  const auto rows = test::published_rows(problem);
  CHECK(test::holds(reason(problem, BackendContext::create(test::kH200, rows)), "runs on 9.0"));
  const BackendContext context = BackendContext::create(test::kB200, rows);
  CHECK(reason(problem, context).empty());
  AttentionProblem other = problem;
  other.tokens_per_page = 32;
  CHECK(test::holds(reason(other, context), "no kernel for bf16"));
}

TEST_CASE("where no row is understood the count is of all of them, and the column is named") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  std::vector<KernelRow> rows = test::published_rows(problem);
  for (KernelRow& row : rows)
    row.extras = {{"mFuture", "7"}};
  const std::string all = std::to_string(rows.size());
  rows.push_back(rows.front());
  rows.back().target = {9, 0, TargetKind::specific};
  const std::string said = reason(problem, BackendContext::create(test::kB200, rows));
  CHECK(test::holds(said, "none of the " + std::to_string(rows.size())));
  CHECK(test::holds(said, all + " rows passed over"));
  CHECK(test::holds(said, "mFuture"));
}

TEST_CASE("a custom mask is never served by rows that would ignore it") {
  AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  std::vector<KernelRow> rows = test::published_rows(problem);
  problem.mask = AttentionMask::custom;
  CHECK_FALSE(reason(problem, BackendContext::create(test::kB200, rows)).empty());
  for (KernelRow& row : rows)
    row.selector.mask = AttentionMask::custom;
  CHECK(reason(problem, BackendContext::create(test::kB200, rows)).empty());
}

TEST_CASE(
    "several query tokens are causal, and latent kernels that are causal by themselves refuse dense ones") {
  AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const BackendContext causal = BackendContext::create(test::kB200, test::published_rows(problem));
  problem.mask = AttentionMask::dense;
  CHECK_FALSE(reason(problem, causal).empty());
  problem = test::generation(8, 4, 4096, 128, 128, 576, 512);
  std::vector<KernelRow> rows = test::published_rows(problem);
  for (KernelRow& row : rows)
    row.selector.mask = AttentionMask::dense;
  const BackendContext latent = BackendContext::create(test::kB200, rows);
  CHECK(reason(problem, latent).empty());
  problem.mask = AttentionMask::dense;
  CHECK(test::holds(reason(problem, latent), "causally"));
}

TEST_CASE("kernels that are assumed to exist need no rows") {
  BackendContext context;
  context.device = test::kB200;
  context.policy.assumes_all_kernels = true;
  const auto resolution =
      test::survey(test::generation(1, 1, 4096, 32, 4), "auto", AttentionPurpose::select, context);
  REQUIRE(resolution.plan);
  CHECK(resolution.effective() == "imported");
  CHECK_FALSE(resolution.plan->row);
  CHECK_FALSE(resolution.plan->exists());
}

TEST_CASE("attention sinks take part in no choice of an imported row") {
  AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const BackendContext context = BackendContext::create(test::kB200, test::published_rows(problem));
  problem.sinks = true;
  CHECK(reason(problem, context).empty());
}

}  // namespace
}  // namespace cubinet
