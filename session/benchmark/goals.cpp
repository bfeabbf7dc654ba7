// SPDX-License-Identifier: Apache-2.0
#include "benchmark/goals.hpp"

#include "benchmark/statistics.hpp"

#include <cubinet/base/text.hpp>
#include <cubinet/session/error_place.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace cubinet {
namespace {

enum class GoalKind { read, us, teraflops, row, peer, error };

constexpr struct {
  std::string_view name;
  GoalKind kind;
  bool names_another;
} kGoalKinds[] = {{"read", GoalKind::read, false},
                  {"us", GoalKind::us, false},
                  {"teraflops", GoalKind::teraflops, false},
                  {"row", GoalKind::row, true},
                  {"peer", GoalKind::peer, true},
                  {"error", GoalKind::error, true}};

struct Goal {
  GoalKind kind = GoalKind::us;
  std::string other;  // tag or peer
  double value = 0;
};

Result<Goal> parse_goal(const std::string& text) {
  const Error wrong{
      ErrorCode::invalid_argument, "`BenchmarkCase::goals`: '" + printable(text) + "' is no goal",
      "say read:SHARE, us:NUMBER, teraflops:NUMBER, row:TAG:RATIO, peer:NAME:RATIO or error:NAME:RATIO"};
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  if (first == std::string::npos) return wrong;
  Goal goal;
  const auto kind = std::find_if(std::begin(kGoalKinds), std::end(kGoalKinds),
                                 [&](const auto& known) { return text.substr(0, first) == known.name; });
  if (kind == std::end(kGoalKinds) || (first != last) != kind->names_another) return wrong;
  goal.kind = kind->kind;
  if (kind->names_another) goal.other = text.substr(first + 1, last - first - 1);
  const char* const begin = text.data() + last + 1;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, goal.value);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(goal.value) || goal.value <= 0)
    return wrong;
  return goal;
}

const BenchmarkPeerTimes* find_peer(const BenchmarkRow& row, const std::string& name) {
  for (const BenchmarkPeerTimes& peer : row.peers) {
    if (peer.name == name) return &peer;
  }
  return nullptr;
}

const BenchmarkRow* find_tagged(const std::vector<BenchmarkRow>& rows, const BenchmarkRow& before,
                                const std::string& tag) {
  for (const BenchmarkRow& row : rows) {
    if (&row == &before) break;
    if (row.given.tag == tag) return &row;
  }
  return nullptr;
}

// Returns the value of the row that the goal bounds; nullopt if it was not measured.
std::optional<double> reached(const std::vector<BenchmarkRow>& rows, const BenchmarkRow& row,
                              const Goal& goal) {
  if (!row.good()) return std::nullopt;
  const double seconds = median_of(row.seconds);
  switch (goal.kind) {
    case GoalKind::read:
      return median_ratio(row.read_seconds, row.seconds);
    case GoalKind::us:
      return seconds * 1e6;
    case GoalKind::teraflops:
      return row.operations / seconds / 1e12;
    case GoalKind::row: {
      const BenchmarkRow* const other = find_tagged(rows, row, goal.other);
      if (other == nullptr || !other->good()) return std::nullopt;
      return seconds / median_of(other->seconds);
    }
    case GoalKind::peer: {
      const BenchmarkPeerTimes* const peer = find_peer(row, goal.other);
      if (peer == nullptr || peer->seconds.empty()) return std::nullopt;
      return median_ratio(row.seconds, peer->seconds);
    }
    case GoalKind::error: {
      const BenchmarkPeerTimes* const peer = find_peer(row, goal.other);
      if (peer == nullptr || !peer->error || !(*peer->error > 0)) return std::nullopt;
      return row.accuracy.all_rows / *peer->error;
    }
  }
  return std::nullopt;
}

bool is_least(GoalKind kind) {
  return kind == GoalKind::read || kind == GoalKind::teraflops;
}

}  // namespace

Result<void> check_goals(const std::vector<BenchmarkCase>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const std::string& text : cases[i].goals) {
      const auto parsed = parse_goal(text);
      if (!parsed) return with_place(parsed.error(), cases[i].where);
      const Goal& goal = *parsed;
      if (goal.kind != GoalKind::row) continue;
      const auto before = cases.begin() + static_cast<std::ptrdiff_t>(i);
      const auto count = std::count_if(cases.begin(), before,
                                       [&](const BenchmarkCase& other) { return other.tag == goal.other; });
      if (count == 1) continue;
      return with_place(
          Error{ErrorCode::invalid_argument,
                fmt::format(
                    "`BenchmarkCase::goals`: '{}' names the one earlier case with this tag, and {} have it",
                    printable(text), count == 0 ? "none" : fmt::to_string(count)),
                "give the case that a goal names a tag of its own"},
          cases[i].where);
    }
  }
  return {};
}

void judge_goals(std::vector<BenchmarkRow>& rows) {
  for (BenchmarkRow& row : rows) {
    row.goals.clear();
    for (const std::string& text : row.given.goals) {
      const Result<Goal> goal = parse_goal(text);
      if (!goal) continue;  // check_goals refused it
      BenchmarkGoal judged{text, reached(rows, row, *goal), false};
      judged.met = judged.reached &&
                   (is_least(goal->kind) ? *judged.reached >= goal->value : *judged.reached <= goal->value);
      row.goals.push_back(std::move(judged));
    }
  }
}

}  // namespace cubinet
