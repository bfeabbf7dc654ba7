// SPDX-License-Identifier: Apache-2.0
#include "benchmark/alternative_rounds.hpp"

#include "benchmark/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace cubinet {
namespace {

// Alternatives within this factor of the fastest stay after the first round.
constexpr double kStillFast = 1.15;
constexpr std::size_t kMostFinalists = 6;
constexpr int kRounds = 9;

using Alternatives = std::vector<BenchmarkAlternative*>;

// Discards earlier times of these alternatives. Then orders them by falling ratio.
Result<void> time_in_turn(Alternatives& of, int rounds, const TimeOfRun& time) {
  std::vector<double> plan;
  for (BenchmarkAlternative* alternative : of)
    alternative->seconds.clear();
  for (int round = 0; round < rounds; ++round) {
    CUBINET_TRY_ASSIGN(plan.emplace_back(), time(nullptr));
    for (BenchmarkAlternative* alternative : of) {
      CUBINET_TRY_ASSIGN(alternative->seconds.emplace_back(), time(alternative));
    }
  }
  for (BenchmarkAlternative* alternative : of)
    alternative->ratio = median_ratio(plan, alternative->seconds);
  std::stable_sort(of.begin(), of.end(), [](const BenchmarkAlternative* a, const BenchmarkAlternative* b) {
    return a->ratio > b->ratio;
  });
  return {};
}

}  // namespace

Result<void> time_alternatives(std::vector<BenchmarkAlternative>& alternatives, const TimeOfRun& time) {
  Alternatives timed;
  for (BenchmarkAlternative& alternative : alternatives) {
    if (alternative.correct) timed.push_back(&alternative);
  }
  if (timed.empty()) return {};
  CUBINET_TRY(time_in_turn(timed, 1, time));
  const double least = timed.front()->ratio / kStillFast;
  const auto slow = std::find_if(timed.begin(), timed.end(),
                                 [&](const BenchmarkAlternative* each) { return each->ratio < least; });
  timed.erase(slow, timed.end());
  timed.resize(std::min(timed.size(), kMostFinalists));
  CUBINET_TRY(time_in_turn(timed, kRounds, time));
  timed.resize(1);
  CUBINET_TRY(time_in_turn(timed, kRounds, time));
  std::swap(*timed.front(), alternatives.front());
  std::stable_sort(
      alternatives.begin() + 1, alternatives.end(),
      [](const BenchmarkAlternative& a, const BenchmarkAlternative& b) { return a.ratio > b.ratio; });
  return {};
}

BenchmarkPlanQuality plan_quality_of(std::span<const BenchmarkRow> rows) {
  BenchmarkPlanQuality quality;
  double logarithms = 0;
  for (const BenchmarkRow& row : rows) {
    if (row.error || row.alternatives.empty() || row.alternatives.front().ratio == 0) continue;
    const double ratio = std::max(row.alternatives.front().ratio, 1.0);
    ++quality.rows;
    logarithms += std::log(ratio);
    quality.behind_3_percent += ratio > 1.03 ? 1 : 0;
    quality.behind_10_percent += ratio > 1.10 ? 1 : 0;
  }
  if (quality.rows == 0) return quality;
  const auto counted = static_cast<double>(quality.rows);
  quality.mean_ratio = std::exp(logarithms / counted);
  quality.behind_3_percent /= counted;
  quality.behind_10_percent /= counted;
  return quality;
}

}  // namespace cubinet
