// SPDX-License-Identifier: Apache-2.0
#include "benchmark/report.hpp"
#include "benchmark/statistics.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/base/units.hpp>
#include <cubinet/session/benchmark.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cubinet {
namespace {

std::string shape_of(const BenchmarkCase& given) {
  const AttentionProblem& problem = given.problem;
  std::string scales;
  if (problem.kv_scales != KvScales::none)
    scales = fmt::format(" scaled by {}", to_string(problem.kv_scales));
  return fmt::format("{}x{}{} q {}, {}/{} heads of {}{}, {}:{}{}{}", problem.batch, problem.kv_len,
                     given.shared_prefix > 0 ? fmt::format(" ({} shared)", given.shared_prefix) : "",
                     problem.q_len, problem.heads_q, problem.heads_kv, problem.head_dim_qk,
                     problem.sinks ? " with sinks" : "", to_string(problem.data_type_q),
                     to_string(problem.data_type_k), scales, problem.is_invariant() ? ", invariant" : "");
}

// Returns a text for the case and the backends.
std::string title_of(const BenchmarkRow& row) {
  return fmt::format("{}, {}", title_of_case(row.given), printable(backend_text(row)));
}

// Returns ", FlashInfer 61.2 us (0.96 of it)" for each peer, or the reason why it has no time.
std::string peers_of(const BenchmarkRow& row, const BenchmarkFigures& figures) {
  std::string text;
  for (std::size_t i = 0; i < row.peers.size(); ++i) {
    const BenchmarkPeerTimes& peer = row.peers[i];
    if (peer.seconds.empty()) {
      if (!peer.what.empty()) text += fmt::format(", {}: {}", printable(peer.name), printable(peer.what));
      continue;
    }
    text += fmt::format(", {} {} ({:.3f} of it)", printable(peer.name),
                        format_seconds(figures.peers[i].seconds), figures.peers[i].ratio);
  }
  return text;
}

// Returns the fastest alternative as ", best of 9 alternatives 5.1 us (…): KERNEL with 4 splits",
// and the number of wrong ones.
std::string alternative_of(const BenchmarkRow& row) {
  std::string text;
  const auto wrong =
      std::count_if(row.alternatives.begin(), row.alternatives.end(),
                    [](const BenchmarkAlternative& alternative) { return !alternative.correct; });
  if (wrong > 0) text = fmt::format(", {} of {} alternatives are WRONG", wrong, row.alternatives.size());
  if (row.alternatives.empty() || row.alternatives.front().seconds.empty()) return text;
  const BenchmarkAlternative& best = row.alternatives.front();
  return fmt::format("{}, best of {} alternatives {} (the plan takes {:.3f} of it): {} with {} splits", text,
                     row.alternatives.size(), format_seconds(median_of(best.seconds)), best.ratio,
                     best.kernel, best.splits);
}

std::string judgement_of(const BenchmarkAccuracy& accuracy) {
  if (accuracy.correct) return "correct";
  return fmt::format(
      "WRONG: {:.1e} in the worst row, {:.0e} is allowed; {:.1e} in the LSE, {:.1e} is allowed",
      accuracy.worst_row, accuracy.allowed, accuracy.worst_lse, accuracy.allowed_lse);
}

}  // namespace

std::string title_of_case(const BenchmarkCase& given) {
  return (given.tag.empty() ? "" : printable(given.tag) + ": ") + shape_of(given);
}

std::string to_line(const BenchmarkRow& row) {
  const std::string what = title_of(row);
  if (row.error) return fmt::format("{}: {}", what, printable(row.error->to_line()));
  const BenchmarkFigures figures = figures_of(row);
  return fmt::format("{}: {}, {:.2f} TB/s of K and V ({:.0f} % of reading alone), {:.1f} TFLOP/s{}{}; {}",
                     what, format_seconds(figures.seconds), figures.kv_terabytes, figures.share_of_read * 100,
                     figures.teraflops, peers_of(row, figures), alternative_of(row),
                     judgement_of(row.accuracy));
}

std::string summary_of_goals(std::span<const BenchmarkRow> rows) {
  std::size_t all = 0;
  std::size_t missed = 0;
  std::string lines;
  for (const BenchmarkRow& row : rows) {
    for (const BenchmarkGoal& goal : row.goals) {
      ++all;
      if (goal.met) continue;
      ++missed;
      lines += fmt::format("\n  {}: {}", title_of(row),
                           goal.reached
                               ? fmt::format("{} is missed with {:.3g}", printable(goal.text), *goal.reached)
                               : printable(goal.text) + " was not measured");
    }
  }
  if (all == 0) return "";
  return fmt::format("{} of {} goals are reached{}{}", all - missed, all, missed == 0 ? "" : "; not:", lines);
}

std::string summary_of_alternatives(std::span<const BenchmarkRow> rows) {
  const BenchmarkPlanQuality quality = plan_quality_of(rows);
  if (quality.rows == 0) return "";
  return fmt::format(
      "the plan takes {:.3f} of its best alternative's time (geometric mean of {} rows); {:.1f} % "
      "of the rows are more than 3 % behind, {:.1f} % more than 10 %",
      quality.mean_ratio, quality.rows, quality.behind_3_percent * 100, quality.behind_10_percent * 100);
}

}  // namespace cubinet
