// SPDX-License-Identifier: Apache-2.0
#include "bench_lines.hpp"

#include "support/text.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;
using namespace cubinet::cli;
using test::contains;

namespace {

BenchmarkRow measured_row() {
  BenchmarkRow row;
  row.given.tag = "a \"name\", with a comma";
  row.given.problem.heads_q = 8;
  row.given.problem.kv_len = 1000;
  row.mean_kv_length = 1000;
  row.requested = "auto";
  row.backend = "templates";
  row.operations = 4e9;
  row.kv_bytes = 2e9;
  row.bytes = 3e9;
  row.accuracy.correct = true;
  row.splits = 3;
  row.seconds = {1e-3, 4e-3, 2e-3};
  row.read_seconds = {1e-3, 1e-3, 3e-3};
  return row;
}

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
