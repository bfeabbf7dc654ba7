// SPDX-License-Identifier: Apache-2.0
// Compares the planner's choices with the times that `bench attention --sample --alternatives`
// measured (bench/results/sample_alternatives.json). Needs no GPU.
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
    const auto faster = [](const Recorded& a, const Recorded& b) { return a.time < b.time; };
    const double best = std::min_element(times.begin(), times.end(), faster)->time;
    const AttentionPlan plan = plan_of(drawn);
    const PlanStep& step = plan.steps[plan.attention_step()];
    const std::string kernel = tile_text(std::get<KernelSpec>(step.kernel));
    const auto same = std::find_if(times.begin(), times.end(), [&](const Recorded& each) {
      return each.kernel == kernel && each.splits == plan.division.kv_splits && each.blocks == step.grid[0];
    });
    if (same == times.end()) continue;
    compared.then.push_back(1 / best);
    compared.now.push_back(same->time / best);
  }
  MESSAGE(compared.now.size(), " plans: ", geometric_mean(compared.now), " of the fastest, and ",
          geometric_mean(compared.then), " before");
  return compared;
}

TEST_CASE("plans whose times were recorded are close to the fastest recorded alternative") {
  const Compared compared = compare_with(CUBINET_SAMPLE_ALTERNATIVES, 40);
  CHECK(compared.now.size() >= 20);
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
