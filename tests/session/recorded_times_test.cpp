// SPDX-License-Identifier: Apache-2.0
// Compares the planner's choices with the times that `bench attention --alternatives` measured, of
// samples (bench/results/sample_alternatives.json, latent_alternatives.json) and of problems of its
// own (row_tile_alternatives.json). Needs no GPU.
#include "support/ok.hpp"

#include <cubinet/attention/planner.hpp>
#include <cubinet/session/benchmark.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace cubinet::test {
namespace {

constexpr DeviceFacts kH100{{9, 0}, 132, 227 * 1024};

struct Recorded {
  std::string kernel;
  std::uint64_t splits = 0;
  std::uint64_t blocks = 0;
  double time = 0;  // relative to the plan of that time
};

std::vector<Recorded> recorded_times(const nlohmann::json& row) {
  std::vector<Recorded> times;
  const auto add = [&](const nlohmann::json& each, double time) {
    times.push_back({each["kernel"], each["splits"], each["blocks"], time});
  };
  add(row["planned"], 1);
  for (const nlohmann::json& each : row["alternatives"]) {
    if (each["correct"] && each.contains("ratio")) add(each, 1 / each["ratio"].get<double>());
  }
  return times;
}

// Returns the template and the tile, as the file names kernels.
std::string tile_text(const KernelSpec& kernel) {
  std::string text = kernel.name;
  const char* separator = "(";
  for (const char* size : {"stages", "tile_size_kv", "tile_size_q"}) {
    text += separator + (size + ("=" + std::to_string(std::get<std::int64_t>(kernel.parameters.at(size)))));
    separator = ", ";
  }
  return text + ")";
}

double fastest(const std::vector<Recorded>& times) {
  const auto faster = [](const Recorded& a, const Recorded& b) { return a.time < b.time; };
  return std::min_element(times.begin(), times.end(), faster)->time;
}

// Returns the time of a plan, or null if it is not among the recorded ones.
const Recorded* find_plan(const std::vector<Recorded>& times, const AttentionPlan& plan) {
  const PlanStep& step = plan.steps[plan.attention_step()];
  const std::string kernel = tile_text(std::get<KernelSpec>(step.kernel));
  const auto same = std::find_if(times.begin(), times.end(), [&](const Recorded& each) {
    return each.kernel == kernel && each.splits == plan.division.kv_splits && each.blocks == step.grid[0];
  });
  return same == times.end() ? nullptr : &*same;
}

AttentionPlan plan_of(const BenchmarkCase& drawn) {
  AttentionProblem problem = drawn.problem;
  if (!drawn.lengths_unknown) problem.kv_lengths = drawn.kv_lengths;
  if (!drawn.lengths_unknown && problem.kv_lengths.empty())
    problem.kv_lengths.assign(problem.batch, static_cast<std::int32_t>(problem.kv_len));
  return ok(plan_attention(problem, kH100, {}, ok(AttentionBackends::builtin())));
}

BenchmarkCase case_of(const std::string& tag) {
  const std::size_t dash = tag.rfind('-');
  const std::uint64_t seed = std::stoull(tag.substr(tag.find('-') + 1));
  const auto number = static_cast<std::uint32_t>(std::stoul(tag.substr(dash + 1)));
  return sample_cases(number + 1, seed).back();
}

double geometric_mean(const std::vector<double>& ratios) {
  double logarithms = 0;
  for (const double ratio : ratios)
    logarithms += std::log(ratio);
  return std::exp(logarithms / static_cast<double>(ratios.size()));
}

// The plans of a file that are among its alternatives, as a part of the fastest: those of now, and
// those that were made when it was measured.
struct Compared {
  std::vector<double> now;
  std::vector<double> then;
};

Compared compare_with(const std::string& path, std::size_t problems) {
  std::ifstream file(path);
  const nlohmann::json results = nlohmann::json::parse(file)["results"];
  REQUIRE(results.size() == problems);
  Compared compared;
  for (const nlohmann::json& row : results) {
    const BenchmarkCase drawn = case_of(row["case_tag"]);
    REQUIRE(drawn.problem.kv_len == row["kv_len"]);
    const std::vector<Recorded> times = recorded_times(row);
    const double best = fastest(times);
    const Recorded* const same = find_plan(times, plan_of(drawn));
    if (same == nullptr) continue;
    compared.then.push_back(1 / best);
    compared.now.push_back(same->time / best);
  }
  MESSAGE(compared.now.size(), " plans: ", geometric_mean(compared.now), " of the fastest, and ",
          geometric_mean(compared.then), " before");
  return compared;
}

// Returns the problem of a row that is of no sample. It has KV of 16 bits and head dim 128.
BenchmarkCase case_of_row(const nlohmann::json& row) {
  BenchmarkCase given;
  given.problem.batch = row["batch"];
  given.problem.q_len = row["q_len"];
  given.problem.kv_len = row["kv_len"];
  given.problem.heads_q = row["heads_q"];
  given.problem.heads_kv = row["heads_kv"];
  given.problem.tokens_per_page = row["page_size"];
  given.lengths_unknown = row["lengths_unknown"];
  if (row.contains("kv_lengths")) given.kv_lengths = row["kv_lengths"].get<std::vector<std::int32_t>>();
  REQUIRE(row["head_dim_qk"] == 128);
  REQUIRE(row["dtype_kv"] == "bf16");
  return given;
}

// The launches of an alternative do not depend on whether its plan knew the lengths, so rows of the
// same lengths have the same alternatives.
TEST_CASE(
    "plans of 32 to 64 rows are close to the fastest recorded alternative, with small grids and large") {
  std::ifstream file(CUBINET_ROW_TILE_ALTERNATIVES);
  const nlohmann::json results = nlohmann::json::parse(file)["results"];
  REQUIRE(results.size() == 8);
  const auto same_problem = [](const nlohmann::json& a, const nlohmann::json& b) {
    return a["batch"] == b["batch"] && a["q_len"] == b["q_len"] &&
           a["mean_kv_length"] == b["mean_kv_length"] && a["heads_q"] == b["heads_q"];
  };
  std::vector<double> ratios;
  for (const nlohmann::json& row : results) {
    std::vector<Recorded> times;
    for (const nlohmann::json& other : results) {
      if (!same_problem(row, other)) continue;
      for (Recorded each : recorded_times(other)) {
        each.time *= other["seconds"].get<double>();
        times.push_back(each);
      }
    }
    CAPTURE(row["case_tag"].get<std::string>());
    const AttentionPlan plan = plan_of(case_of_row(row));
    const Recorded* const same = find_plan(times, plan);
    REQUIRE(same != nullptr);
    ratios.push_back(same->time / fastest(times));
    CHECK(ratios.back() < 1.04);
  }
  CHECK(geometric_mean(ratios) < 1.02);
}

TEST_CASE("plans whose times were recorded are close to the fastest recorded alternative") {
  const Compared compared = compare_with(CUBINET_SAMPLE_ALTERNATIVES, 40);
  CHECK(compared.now.size() >= 19);
  CHECK(geometric_mean(compared.now) < 1.07);  // without plans of latent attention that divide evenly
}

TEST_CASE("plans of latent attention are close to the fastest recorded alternative") {
  const Compared compared = compare_with(CUBINET_LATENT_ALTERNATIVES, 46);
  CHECK(compared.now.size() >= 23);
  CHECK(geometric_mean(compared.now) < 1.06);
  CHECK(geometric_mean(compared.then) > 1.08);
}

}  // namespace
}  // namespace cubinet::test
