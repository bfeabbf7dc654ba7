// SPDX-License-Identifier: Apache-2.0
#include "benchmark/alternative_rounds.hpp"

#include "support/ok.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace cubinet;
using test::ok;

namespace {

std::vector<BenchmarkAlternative> alternatives_named(const std::vector<std::string>& names) {
  std::vector<BenchmarkAlternative> alternatives;
  for (const std::string& name : names) {
    alternatives.emplace_back().kernel = name;
    alternatives.back().correct = true;
  }
  return alternatives;
}

BenchmarkRow row_with_ratio(double ratio) {
  BenchmarkRow row;
  row.alternatives = alternatives_named({"a"});
  row.alternatives.front().ratio = ratio;
  return row;
}

}  // namespace

TEST_CASE("the fastest alternative is timed twice in turn with the plan, and slow ones once") {
  auto alternatives = alternatives_named({"slow", "fast", "near"});
  const std::map<std::string, double> seconds = {{"slow", 2}, {"fast", 0.5}, {"near", 0.55}};
  std::map<std::string, int> runs;
  ok(time_alternatives(alternatives, [&](const BenchmarkAlternative* of) -> Result<double> {
    ++runs[of == nullptr ? "plan" : of->kernel];
    return of == nullptr ? 1 : seconds.at(of->kernel);
  }));
  CHECK(runs == std::map<std::string, int>{{"plan", 19}, {"slow", 1}, {"fast", 19}, {"near", 10}});
  REQUIRE(alternatives.size() == 3);
  CHECK(alternatives[0].kernel == "fast");
  CHECK(alternatives[0].ratio == 2);
  CHECK(alternatives[0].seconds.size() == 9);
  CHECK(alternatives[1].kernel == "near");
  CHECK(alternatives[2].kernel == "slow");
  CHECK(alternatives[2].ratio == 0.5);
  CHECK(alternatives[2].seconds.size() == 1);
}

TEST_CASE("the best alternative is the one of the nine rounds, not a lucky first time") {
  auto alternatives = alternatives_named({"lucky", "steady"});
  int lucky = 0;
  ok(time_alternatives(alternatives, [&](const BenchmarkAlternative* of) -> Result<double> {
    if (of == nullptr) return 1;
    if (of->kernel == "steady") return 0.9;
    return lucky++ == 0 ? 0.85 : 0.95;
  }));
  CHECK(alternatives[0].kernel == "steady");
}

TEST_CASE("the ratio of the best alternative is that of its last rounds, without the luck of the choice") {
  auto alternatives = alternatives_named({"one"});
  int runs = 0;
  ok(time_alternatives(alternatives, [&](const BenchmarkAlternative* of) -> Result<double> {
    if (of == nullptr) return 1;
    return ++runs <= 10 ? 0.5 : 0.8;
  }));
  CHECK(alternatives[0].ratio == 1.25);
}

TEST_CASE("a wrong alternative is not timed") {
  auto alternatives = alternatives_named({"wrong", "right"});
  alternatives[0].correct = false;
  ok(time_alternatives(alternatives, [&](const BenchmarkAlternative* of) -> Result<double> {
    if (of != nullptr) CHECK(of->kernel == "right");
    return 1;
  }));
  CHECK(alternatives[0].kernel == "right");
  CHECK(alternatives[1].seconds.empty());
  alternatives = alternatives_named({"wrong"});
  alternatives[0].correct = false;
  ok(time_alternatives(alternatives, [&](const BenchmarkAlternative*) -> Result<double> {
    FAIL("nothing is to be timed");
    return 1;
  }));
}

TEST_CASE("an error of a run ends the rounds") {
  auto alternatives = alternatives_named({"a"});
  const auto failed = time_alternatives(alternatives, [](const BenchmarkAlternative* of) -> Result<double> {
    if (of == nullptr) return 1;
    return Error{ErrorCode::unavailable, "the device is gone"};
  });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "the device is gone");
}

TEST_CASE("the quality of the plans is a geometric mean, and a plan that nothing beats counts as 1") {
  std::vector<BenchmarkRow> rows = {row_with_ratio(0.5), row_with_ratio(1.21), row_with_ratio(1.05),
                                    row_with_ratio(1.02)};
  BenchmarkPlanQuality quality = plan_quality_of(rows);
  CHECK(quality.rows == 4);
  CHECK(quality.mean_ratio == doctest::Approx(1.0669).epsilon(1e-4));
  CHECK(quality.behind_3_percent == 0.5);
  CHECK(quality.behind_10_percent == 0.25);
  rows[1].error = Error{ErrorCode::unsupported, "no kernel"};
  rows[2].alternatives.front().ratio = 0;
  rows[3].alternatives.clear();
  quality = plan_quality_of(rows);
  CHECK(quality.rows == 1);
  CHECK(quality.mean_ratio == 1);
  CHECK(plan_quality_of({}).rows == 0);
}
