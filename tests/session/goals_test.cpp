// SPDX-License-Identifier: Apache-2.0
#include "benchmark/goals.hpp"

#include "support/text.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using test::contains;

namespace {

BenchmarkRow row_of(const char* tag, std::vector<std::string> goals) {
  BenchmarkRow row;
  row.given.tag = tag;
  row.given.goals = std::move(goals);
  row.requested = row.backend = "templates";
  row.accuracy.correct = true;
  row.operations = 2e9;
  row.seconds = {10e-6, 11e-6, 12e-6};
  row.read_seconds = {9e-6, 9.9e-6, 10.8e-6};
  row.peers = {{"Fast", "1.0", {20e-6, 22e-6, 24e-6}, 2e-3}, {"Gone", "it declined", {}, {}}};
  row.accuracy.all_rows = 1e-3;
  return row;
}

bool met(const char* goal, const BenchmarkRow& base) {
  std::vector<BenchmarkRow> rows = {row_of("first", {}), base};
  rows.back().given.goals = {goal};
  judge_goals(rows);
  REQUIRE(rows.back().goals.size() == 1);
  return rows.back().goals.front().met;
}

}  // namespace

TEST_CASE("a goal is met at its bound and missed beyond") {
  const BenchmarkRow row = row_of("second", {});
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
  BenchmarkRow wrong = row_of("second", {});
  wrong.accuracy.correct = false;
  CHECK_FALSE(met("us:100", wrong));
  BenchmarkRow failed = row_of("second", {});
  failed.error = Error{ErrorCode::unsupported, "nobody"};
  failed.seconds.clear();
  CHECK_FALSE(met("us:100", failed));
}

TEST_CASE(
    "what is no goal is refused before anything is measured, and a goal of another row names one before it") {
  const auto check = [](std::vector<std::pair<const char*, const char*>> cases) {
    std::vector<BenchmarkCase> given;
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
  BenchmarkCase of_a_sweep;
  of_a_sweep.where = "'s.txt', line 3";
  for (const char* goal : {"nonsense", "row:none:1"}) {
    of_a_sweep.goals = {goal};
    CHECK(contains(check_goals({of_a_sweep}).error().message, "'s.txt', line 3: `BenchmarkCase::goals`"));
  }
  CHECK(check({{"a", ""}, {"b", "row:a:1.15"}}).has_value());
  CHECK_FALSE(check({{"b", "row:a:1.15"}, {"a", ""}}).has_value());
  CHECK_FALSE(check({{"a", ""}, {"a", ""}, {"b", "row:a:1.15"}}).has_value());
  CHECK(check({{"64/8x128", ""}, {"b", "row:64/8x128:1.15"}}).has_value());
}
