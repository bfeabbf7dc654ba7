// SPDX-License-Identifier: Apache-2.0
#include "bench_goals.hpp"

#include "tool.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;
using test::contains;

namespace {

BenchRow row_of(const char* tag, std::vector<std::string> goals) {
  BenchRow row;
  row.measured.tag = tag;
  row.measured.goals = std::move(goals);
  row.requested = row.backend = "templates";
  row.verdict.allowed = 1e-2;
  row.work.operations = 2e9;
  row.seconds = {10e-6, 11e-6, 12e-6};
  row.read_seconds = {9e-6, 9.9e-6, 10.8e-6};
  row.peers = {{"Fast", "1.0", {20e-6, 22e-6, 24e-6}, 2e-3}, {"Gone", "it declined", {}, {}}};
  row.verdict.error.all_rows = 1e-3;
  return row;
}

bool met(const char* goal, const BenchRow& base) {
  std::vector<BenchRow> rows = {row_of("first", {}), base};
  rows.back().measured.goals = {goal};
  judge_goals(rows);
  REQUIRE(rows.back().goals.size() == 1);
  return rows.back().goals.front().met;
}

}  // namespace

TEST_CASE("a goal is met at its bound and missed beyond") {
  const BenchRow row = row_of("second", {});
  CHECK(met("us:11", row));
  CHECK_FALSE(met("us:10.9", row));
  CHECK(met("read:0.89", row));
  CHECK_FALSE(met("read:0.91", row));
  CHECK(met("teraflops:181", row));
  CHECK_FALSE(met("teraflops:182", row));
  CHECK(met("row:first:1", row));
  CHECK_FALSE(met("row:first:0.99", row));
  CHECK(met("peer:Fast:0.5", row));
  CHECK_FALSE(met("peer:Fast:0.49", row));
  CHECK(met("error:Fast:0.5", row));
  CHECK_FALSE(met("error:Fast:0.49", row));
}

TEST_CASE("what was not measured, or is wrong, reaches nothing") {
  CHECK_FALSE(met("peer:Gone:100", row_of("second", {})));
  CHECK_FALSE(met("peer:Nobody:100", row_of("second", {})));
  CHECK_FALSE(met("error:Gone:100", row_of("second", {})));
  BenchRow wrong = row_of("second", {});
  wrong.verdict.error.worst_row = 1;
  CHECK_FALSE(met("us:100", wrong));
  BenchRow failed = row_of("second", {});
  failed.error = Error{ErrorCode::unsupported, "nobody"};
  failed.seconds.clear();
  CHECK_FALSE(met("us:100", failed));
}

TEST_CASE("the summary counts the goals and says of each missed one where it stands") {
  std::vector<BenchRow> rows = {row_of("a", {"us:5", "us:50"}), row_of("b", {"peer:Nobody:1"})};
  judge_goals(rows);
  const std::string summary = summary_of_goals(rows);
  CHECK(contains(summary, "1 of 3 goals are reached; not:"));
  CHECK(contains(summary, "us:5 is missed with 11"));
  CHECK(contains(summary, "peer:Nobody:1 was not measured"));
  rows.resize(1);
  rows[0].measured.goals = {"us:50"};
  judge_goals(rows);
  CHECK(summary_of_goals(rows) == "1 of 1 goals are reached");
  rows[0].measured.goals.clear();
  judge_goals(rows);
  CHECK(summary_of_goals(rows).empty());
}

TEST_CASE(
    "what is no goal is refused before anything is measured, and a goal of another row names one before it") {
  const auto check = [](std::vector<std::pair<const char*, const char*>> cases) {
    std::vector<BenchCase> given;
    for (const auto& [tag, goal] : cases) {
      given.emplace_back().tag = tag;
      if (*goal != '\0') given.back().goals = {goal};
    }
    return check_goals(given);
  };
  for (const char* goal : {":", "us", "us:", "us:x", "us:1x", "us:-1", "us:0", "us:inf", "us:a:1", "row:1",
                           "row:none:1", "peer:1", "speed:1", "read:nan"}) {
    CAPTURE(goal);
    const auto refused = check({{"a", ""}, {"b", goal}});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::invalid_argument);
  }
  BenchCase of_a_sweep;
  of_a_sweep.where = "'s.txt', line 3";
  for (const char* goal : {"nonsense", "row:none:1"}) {
    of_a_sweep.goals = {goal};
    CHECK(contains(check_goals({of_a_sweep}).error().message, "'s.txt', line 3: --goal"));
  }
  CHECK(check({{"a", ""}, {"b", "row:a:1.15"}}).has_value());
  CHECK_FALSE(check({{"b", "row:a:1.15"}, {"a", ""}}).has_value());
  CHECK_FALSE(check({{"a", ""}, {"a", ""}, {"b", "row:a:1.15"}}).has_value());
  CHECK(check({{"64/8x128", ""}, {"b", "row:64/8x128:1.15"}}).has_value());
}
