// SPDX-License-Identifier: Apache-2.0
#include "measured_row.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
using test::contains;
using test::measured_row;

namespace {

BenchmarkRow row_with(std::vector<BenchmarkGoal> goals) {
  BenchmarkRow row = measured_row();
  row.goals = std::move(goals);
  return row;
}

}  // namespace

TEST_CASE("a line says why a peer has no time, without its line breaks") {
  BenchmarkRow row = measured_row();
  row.peers.push_back({"Gone", "the peer Gone\nhas ended", {}});
  row.peers.push_back({"Fast", "it", {1e-3, 2e-3, 1e-3}});
  const std::string line = to_line(row);
  CHECK(contains(line, "Gone: the peer Gone"));
  CHECK(contains(line, "has ended, Fast 1"));
  CHECK(std::count(line.begin(), line.end(), '\n') == 0);
}

TEST_CASE("a line states what makes equal shapes other cases") {
  BenchmarkRow row = measured_row();
  const std::string plain = to_line(row);
  for (const char* text : {"shared", "scaled", "invariant"})
    CHECK_FALSE(contains(plain, text));
  row.given.shared_prefix = 512;
  row.given.problem.kv_scales = KvScales::head;
  row.given.problem.numerics = AttentionNumerics::invariant;
  const std::string line = to_line(row);
  CHECK(contains(line, " (512 shared) q "));
  CHECK(contains(line, " scaled by head, invariant, auto"));
}

TEST_CASE("a line of a wrong row and of a row without times says so") {
  BenchmarkRow row = measured_row();
  row.accuracy.correct = false;
  CHECK(contains(to_line(row), "WRONG"));
  row.error = Error{ErrorCode::unsupported, "no kernel has it"};
  CHECK(contains(to_line(row), "no kernel has it"));
}

TEST_CASE("the summary counts the goals and names each missed one with its value") {
  const std::vector<BenchmarkRow> rows = {row_with({{"us:5", 11, false}, {"us:50", 11, true}}),
                                          row_with({{"peer:Nobody:1", std::nullopt, false}})};
  const std::string summary = summary_of_goals(rows);
  CHECK(contains(summary, "1 of 3 goals are reached; not:"));
  CHECK(contains(summary, "us:5 is missed with 11"));
  CHECK(contains(summary, "peer:Nobody:1 was not measured"));
  CHECK(summary_of_goals(std::vector{row_with({{"us:50", 11, true}})}) == "1 of 1 goals are reached");
  CHECK(summary_of_goals(std::vector{row_with({})}).empty());
}

TEST_CASE("a line names the fastest alternative, and the summary says how far the plans are behind") {
  BenchmarkRow row = measured_row();
  CHECK_FALSE(contains(to_line(row), "alternatives"));
  CHECK(summary_of_alternatives(std::vector{row}).empty());
  row.alternatives.resize(2);
  row.alternatives[0].kernel = "attention_decode(tile_size_q=16)";
  row.alternatives[0].splits = 8;
  row.alternatives[0].seconds = {1e-3, 4e-3, 1.6e-3};
  row.alternatives[0].ratio = 1.25;
  row.alternatives[0].correct = row.alternatives[1].correct = true;
  CHECK(contains(to_line(row),
                 "best of 2 alternatives 1.60 ms (the plan takes 1.250 of it): "
                 "attention_decode(tile_size_q=16) with 8 splits"));
  CHECK(summary_of_alternatives(std::vector{row, measured_row()}) ==
        "the plan takes 1.250 of its best alternative's time (geometric mean of 1 rows); 100.0 % of the rows "
        "are more than 3 % behind, 100.0 % more than 10 %");
}

TEST_CASE("a line counts the wrong alternatives, also if none was timed") {
  BenchmarkRow row = measured_row();
  row.alternatives.resize(2);
  CHECK(contains(to_line(row), "2 of 2 alternatives are WRONG"));
  CHECK_FALSE(contains(to_line(row), "best of"));
  row.alternatives[0].correct = true;
  row.alternatives[0].seconds = {1e-3};
  CHECK(contains(to_line(row), "1 of 2 alternatives are WRONG, best of 2 alternatives 1.00 ms"));
}
