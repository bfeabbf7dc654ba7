// SPDX-License-Identifier: Apache-2.0
#include "attention/backend_fixture.hpp"

#include <cubinet/session/attention_json.hpp>

using namespace cubinet;
using test::Known;

TEST_CASE("a tile that no row has is no candidate but is named as missing") {
  const AttentionProblem problem = test::generation(1, 8, 2048, 16, 8);
  std::vector<KernelRow> rows = test::published_rows(problem);
  std::erase_if(rows, [](const KernelRow& row) { return row.selector.tile_size_q == 64; });
  const auto document = describe(test::plan_of(problem, "auto", Known::on(test::kB200, rows)));
  CHECK(document["candidates"].size() == 3);
  CHECK(document["missing_candidates"] == nlohmann::json::array({64}));
  CHECK(document["estimated_microseconds"].is_null());
  CHECK(document["specification"].is_null());
  CHECK(document["choice"] == "chosen by the rules of the backend");
}

TEST_CASE("a kernel of ours that is not split reduces nothing") {
  Known known = Known::on(test::kH200);
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  known.options.splits = 1;
  const auto whole = describe(test::plan_of(problem, "auto", known));
  CHECK(whole["kv_splits"] == 1);
  CHECK(whole["multi_ctas_kv_mode"] == "disabled");
  CHECK(whole["launch"]["reduction"].is_null());
  CHECK(whole["estimated_microseconds"].get<double>() > 0);
  CHECK(whole["choice"] == "the best kernel by the rules and the cost model");
  known.options.splits = 5;
  const auto split = describe(test::plan_of(problem, "auto", known));
  CHECK(split["multi_ctas_kv_mode"] == "gmem_separate");
  CHECK(split["launch"]["reduction"]["threads"] == 128);
}

TEST_CASE("a kernel of any page size has the page size of its problem, and says that it takes others") {
  AttentionProblem problem = test::context(2, 128, 1024, 32, 4);
  problem.tokens_per_page = 24;
  const auto document = describe(test::plan_of(problem, "auto", Known::on(test::kH200)));
  CHECK(document["page_size"] == 24);
  CHECK(document["dynamic_page"] == true);
  problem.layout = QkvLayout::contiguous_kv;
  const auto contiguous = describe(test::plan_of(problem, "auto", Known::on(test::kH200)));
  CHECK(contiguous["page_size"] == 0);
  CHECK(contiguous["dynamic_page"] == false);
}

TEST_CASE("a window that is absent is null") {
  AttentionProblem problem = test::generation(1, 1, 64, 32, 4);
  CHECK(describe(problem)["window"].is_null());
  problem.window = 5;
  CHECK(describe(problem)["window"] == 5);
}

TEST_CASE("the summary is one sentence that names the kernel, its target and its grid") {
  const AttentionProblem problem = test::generation(1, 1, 4096, 32, 4);
  Known known = Known::on(test::kB200, test::published_rows(problem));
  known.options.explains = true;
  const AttentionPlan plan = test::plan_of(problem, "auto", known);
  const std::string summary = summary_of(plan);
  CHECK(summary.starts_with(plan.row.function_name + " for sm_100f: swaps 8x128"));
  CHECK(summary.ends_with("grid 8x8x1, clusters of 8"));
  CHECK(trace_of(plan).size() >= 2);
}
