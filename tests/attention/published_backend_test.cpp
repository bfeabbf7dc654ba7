// SPDX-License-Identifier: Apache-2.0
#include "backend_fixture.hpp"

#include <cubinet/kernel_table/row_codec.hpp>

namespace cubinet {
namespace {

std::string published_reason(const AttentionProblem& problem, const test::Known& context) {
  return test::decline_of(problem, kPublishedBackend, context);
}

TEST_CASE("a published row of no known header is chosen, sized and traced, and says why it is not launched") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  test::Known known = test::Known::on(test::kB200, test::published_rows(problem));
  const AttentionPlan plan = test::plan_of(problem, "published", known);
  CHECK(plan.exists());
  CHECK_FALSE(plan.launchable());
  CHECK(test::holds(plan.not_launchable, "layout"));
  CHECK(plan.division.kv_splits == 32);
  CHECK(plan.division.kv_mode == MultiCtasKvMode::gmem);
  CHECK(plan.workspace.scratch_bytes > 0);
  CHECK(plan.workspace.counter_bytes > 0);
  CHECK(plan.passes == 1);
  CHECK(plan.trace.empty());
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].kernel == KernelRequest(published_spec(plan.row)));
  CHECK(plan.steps[0].arguments == nullptr);
  known.options.explains = true;
  CHECK_FALSE(test::plan_of(problem, "published", known).trace.empty());
}

TEST_CASE("a kernel that reads two tokens as one row is not launched over pages that lie token by token") {
  AttentionProblem problem = test::generation(2, 1, 4096, 16, 8, 64, 64);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  auto rows = test::published_rows(problem);
  for (KernelRow& row : rows)
    row.layout = "0.6.13";
  const test::Known known = test::Known::on(test::kB200, rows);
  CHECK(test::holds(test::plan_of(problem, "published", known).not_launchable, "head by head"));
  problem.kv_order = KvOrder::hnd;
  const AttentionPlan plan = test::plan_of(problem, "published", known);
  CHECK(plan.launchable());
  CHECK(plan.rules.kv_tokens_per_row == 2);
}

TEST_CASE(
    "a row of a known header without its layout is not launched, since its argument is of another size") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  auto rows = test::published_rows(problem);
  for (KernelRow& row : rows)
    row.pin = "f6781dfd70669167b7356fa77a805e7306443348a4b5d6a93732a27ebbb3b418";
  const auto known = test::Known::on(test::kB200, rows);
  CHECK(test::holds(test::plan_of(problem, "published", known).not_launchable, "argument of another size"));
}

TEST_CASE("a separate reduction is a second step, and clusters are what a plan counts on") {
  test::Known known{test::kB200, {}, {}};
  known.options.assumes_all_kernels = true;
  const AttentionPlan latent =
      test::plan_of(test::generation(8, 1, 4096, 128, 128, 576, 512), "published", known);
  REQUIRE(latent.steps.size() == 2);
  CHECK(latent.steps[1].starts_early);
  const AttentionProblem clustered = test::generation(1, 1, 4096, 32, 4);
  const auto rows = test::published_rows(clustered);
  known = test::Known::on(test::kB200, rows);
  const AttentionPlan plan = test::plan_of(clustered, "published", known);
  REQUIRE(plan.steps[0].cluster_x == 8);
  CHECK(plan.steps[0].counts_on == 8);
  known.options.occupancy = {{plan.steps[0].kernel, 7}};
  const AttentionPlan again = test::plan_of(clustered, "published", known);
  CHECK(again.division.kv_mode == MultiCtasKvMode::gmem);
  CHECK(again.steps[0].cluster_x == 1);
}

TEST_CASE("the rules divide KV themselves, but need not divide it at all") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  test::Known known{test::kB200, {}, {}};
  known.options.assumes_all_kernels = true;
  known.options.splits = 1;
  CHECK(test::plan_of(problem, "published", known).division.kv_splits == 1);
  known.options.splits = 7;
  CHECK_FALSE(test::decline_of(problem, "published", known).empty());
  known.options.splits = std::nullopt;
  known.options.split_tokens = 256;
  CHECK(test::holds(test::decline_of(problem, "published", known), "fixed length"));
}

TEST_CASE(
    "invariant numerics, a soft cap, scales of KV heads, and a window beside a custom mask, would be "
    "ignored") {
  AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  test::Known known{test::kB200, {}, {}};
  known.options.assumes_all_kernels = true;
  problem.numerics = AttentionNumerics::invariant;
  CHECK(test::holds(test::decline_of(problem, "published", known), "arithmetic"));
  problem.numerics = AttentionNumerics::fast;
  problem.soft_cap = 30;
  CHECK(test::holds(test::decline_of(problem, "published", known), "soft cap"));
  problem.soft_cap = std::nullopt;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.kv_scales = KvScales::head;
  CHECK(test::holds(test::decline_of(problem, "published", known), "none of KV heads"));
  problem.kv_scales = KvScales::none;
  problem.data_type_k = problem.data_type_v = problem.data_type_q;
  problem.append.emplace().lengths_exclude_new = true;
  CHECK(test::holds(test::decline_of(problem, "published", known), "include the new tokens"));
  problem.append = std::nullopt;
  problem.mask = AttentionMask::custom;
  problem.window = 128;
  CHECK(test::holds(test::decline_of(problem, "published", known), "window"));
}

TEST_CASE("a decline keeps the rows alive that it names") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  std::optional<AttentionResolution> resolution;
  {
    test::Known known = test::Known::on(test::kB200, test::published_rows(problem));
    known.options.explains = true;
    AttentionProblem other = problem;
    other.tokens_per_page = 32;
    resolution.emplace(test::resolve(other, "published", /*launches=*/false, known));
  }
  REQUIRE(resolution->declined.size() == 1);
  const BackendDecline& declined = resolution->declined.front();
  CHECK_FALSE(declined.trace.empty());
  REQUIRE_FALSE(declined.nearest.empty());
  CHECK(test::holds(declined.nearest.front().row->function_name, "swaps32_gmem_static"));
}

TEST_CASE("asked to launch, the published backend names the kernel that it would have chosen") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const test::Known known = test::Known::on(test::kB200, test::published_rows(problem));
  const auto resolution = test::resolve(problem, "published", /*launches=*/true, known);
  CHECK_FALSE(resolution.plan);
  REQUIRE(resolution.declined.size() == 1);
  CHECK(test::holds(resolution.declined[0].reason, "swaps32_gmem_static_sm_100f"));
  CHECK(test::holds(resolution.declined[0].reason, "cannot launch"));
}

TEST_CASE("no rows, rows for other devices and a problem without a row are three reasons") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  CHECK(test::holds(published_reason(problem, test::Known::on(test::kB200, {})), "no rows of published"));
  const auto rows = test::published_rows(problem);
  CHECK(test::holds(published_reason(problem, test::Known::on(test::kH200, rows)), "runs on 9.0"));
  const test::Known context = test::Known::on(test::kB200, rows);
  CHECK(published_reason(problem, context).empty());
  AttentionProblem other = problem;
  other.tokens_per_page = 32;
  CHECK(test::holds(published_reason(other, context), "no kernel for bf16"));
}

TEST_CASE("where no row is understood the count is of all of them, and the column is named") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  std::vector<KernelRow> rows = test::published_rows(problem);
  for (KernelRow& row : rows)
    row.extras = {{"mFuture", "7"}};
  rows.push_back(rows.front());
  rows.back().target = {9, 0, TargetKind::specific};
  const auto known = test::Known::on(test::kB200, rows);
  const std::string said = published_reason(problem, known);
  CHECK(test::holds(said, "none of the " + std::to_string(rows.size())));
  CHECK(test::holds(said, known.kernels.of(kPublishedImplementation).usage().passed_over()));
  CHECK(test::holds(said, "mFuture"));
}

TEST_CASE("the version pinned last serves what it can, an older one what only it can") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  std::vector<KernelRow> rows = test::published_rows(problem);
  for (KernelRow& row : rows) {
    row.pin = "older";
    row.version = 1;
    // This target would win if the rows of both versions were one table.
    row.target = {10, 0, TargetKind::specific};
  }
  std::vector<KernelRow> both = rows;
  for (KernelRow row : test::published_rows(problem)) {
    row.pin = "newer";
    row.version = 2;
    row.target = {10, 0, TargetKind::family};
    both.push_back(row);
  }
  const auto of_both =
      test::resolve(problem, kPublishedBackend, /*launches=*/false, test::Known::on(test::kB200, both));
  REQUIRE(of_both.plan);
  CHECK(of_both.plan->row.pin == "newer");
  // A version without a row that fits leaves the problem to the version before it.
  for (KernelRow& row : both) {
    if (row.pin == "newer") row.selector.head_dim_qk = 72;
  }
  const auto of_older =
      test::resolve(problem, kPublishedBackend, /*launches=*/false, test::Known::on(test::kB200, both));
  REQUIRE(of_older.plan);
  CHECK(of_older.plan->row.pin == "older");
}

TEST_CASE("a custom mask is never served by rows that would ignore it") {
  AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  std::vector<KernelRow> rows = test::published_rows(problem);
  problem.mask = AttentionMask::custom;
  CHECK_FALSE(published_reason(problem, test::Known::on(test::kB200, rows)).empty());
  for (KernelRow& row : rows)
    row.selector.mask = AttentionMask::custom;
  CHECK(published_reason(problem, test::Known::on(test::kB200, rows)).empty());
}

TEST_CASE(
    "several query tokens are causal, and latent kernels that are causal by themselves refuse dense ones") {
  AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const test::Known causal = test::Known::on(test::kB200, test::published_rows(problem));
  problem.mask = AttentionMask::dense;
  CHECK_FALSE(published_reason(problem, causal).empty());
  problem = test::generation(8, 4, 4096, 128, 128, 576, 512);
  std::vector<KernelRow> rows = test::published_rows(problem);
  for (KernelRow& row : rows)
    row.selector.mask = AttentionMask::dense;
  const test::Known latent = test::Known::on(test::kB200, rows);
  CHECK(published_reason(problem, latent).empty());
  problem.mask = AttentionMask::dense;
  CHECK(test::holds(published_reason(problem, latent), "causally"));
}

TEST_CASE("kernels that are assumed to exist need no rows") {
  test::Known known{test::kB200, {}, {}};
  known.options.assumes_all_kernels = true;
  const AttentionPlan plan = test::plan_of(test::generation(1, 1, 4096, 32, 4), "auto", known);
  CHECK(plan.backend_name() == "published");
  CHECK(plan.row.function_name.empty());
  CHECK_FALSE(plan.exists());
  CHECK(plan.steps.front().kernel == KernelRequest());
}

TEST_CASE("attention sinks take part in no choice of a published row") {
  AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  const test::Known context = test::Known::on(test::kB200, test::published_rows(problem));
  problem.sinks = true;
  CHECK(published_reason(problem, context).empty());
}

TEST_CASE("rules of an unknown version are an error that lists the known ones") {
  const AttentionProblem problem = test::generation(2, 4, 16384, 16, 8);
  test::Known known = test::Known::on(test::kB200, test::published_rows(problem));
  known.options.rules = "9.9";
  const auto backends = AttentionBackends::builtin();
  REQUIRE(backends);
  const auto plan = plan_attention(problem, known.device, known.kernels, *backends, known.options);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::invalid_argument);
  CHECK(test::holds(plan.error().message, "'9.9'"));
  CHECK(test::holds(plan.error().to_line(), "0.6.17"));
}

TEST_CASE("a row with the layout of version 72 is launched by its newest rules though its header is unseen") {
  const AttentionProblem problem = test::generation(1, 1, 65536, 8, 8);
  const auto splits = [&](std::optional<std::string> rules) {
    auto rows = test::published_rows(problem);
    // The kernel that combines splits in a cluster.
    const std::size_t count = rows.size();
    for (std::size_t i = 0; i < count; ++i) {
      KernelRow row = rows[i];
      row.selector.multi_ctas_kv_mode = MultiCtasKvMode::cga;
      row.function_name += "_cluster";
      rows.push_back(row);
    }
    for (KernelRow& row : rows) {
      row.layout = "0.7.2";
      row.pin = std::string(64, 'e');
    }
    test::Known known = test::Known::on(test::kB200, rows);
    known.options.rules = std::move(rules);
    const AttentionPlan plan = test::plan_of(problem, "published", known);
    CHECK(plan.launchable());
    REQUIRE(plan.steps[0].arguments != nullptr);
    CHECK(plan.steps[0].arguments->size() == 1408);
    return plan.division.kv_splits;
  };
  CHECK(splits(std::nullopt) == 16);
  CHECK(splits("0.7.2") == 128);
}

}  // namespace
}  // namespace cubinet
