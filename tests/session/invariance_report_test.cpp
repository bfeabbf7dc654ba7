// SPDX-License-Identifier: Apache-2.0
#include "support/text.hpp"

#include <cubinet/session/invariance.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace cubinet;
using test::contains;

namespace {

// Returns a row whose invariant numerics keep all bits, and whose fast ones do not.
InvarianceRow compared_row() {
  InvarianceRow row;
  row.given.tag = "prompt";
  row.given.problem.kv_len = 1000;
  row.subjects = {{"invariant", {{"decode", 8, 8}, {"verification", 64, 64}}},
                  {"fast", {{"decode", 8, 2}, {"verification", 64, 64}}},
                  {"Gone", {}, Error{ErrorCode::io, "it has ended"}}};
  InvarianceTimes times;
  times.stage = "decode step";
  times.fast = {2e-6, 4e-6, 2e-6};
  times.invariant.seconds = {3e-6, 5e-6, 3e-6};
  times.invariant.peers = {{"Other", "v1", {6e-6, 5e-6, 6e-6}}, {"Gone", "it has ended", {}}};
  times.correct = true;
  row.times = {times};
  return row;
}

}  // namespace

TEST_CASE("the lines of a row say who keeps the bits, where others lose them, and the price") {
  const std::string lines = to_lines(compared_row());
  CHECK(contains(lines, "prompt: 1x1000"));
  CHECK(contains(lines, "invariant                keeps the bits of every row"));
  CHECK(contains(lines, "keeps the bits of decode 25.0 % of 8 rows\n"));
  CHECK(contains(lines, "Gone                     not compared: "));
  CHECK(contains(lines, "1.500 of fast"));
  CHECK(contains(lines, "0.500 of Other"));
  CHECK(contains(lines, "Gone: it has ended"));
  CHECK_FALSE(contains(lines, "WRONG"));
  InvarianceRow wrong = compared_row();
  wrong.times.front().correct = false;
  CHECK(contains(to_lines(wrong), "WRONG"));
}

TEST_CASE("a row without a plan states that nothing was compared, and why") {
  InvarianceRow row;
  row.subjects = {{"invariant"}, {"fast"}};
  row.error = Error{ErrorCode::unsupported, "there is no plan"};
  const std::string lines = to_lines(row);
  CHECK(contains(lines, "invariant                not compared\n"));
  CHECK_FALSE(contains(lines, "bits"));
  CHECK(contains(lines, "there is no plan"));
}

TEST_CASE("the JSON has the rows of each stage, the times and the ratios of the rounds") {
  InvarianceResult result{"a device", 3, 7, {compared_row()}};
  auto document = nlohmann::json::parse(to_json(result));
  CHECK(document["device"] == "a device");
  CHECK(document["seed"] == 7);
  auto row = document["results"][0];
  CHECK(row["case_tag"] == "prompt");
  CHECK(row["implementations"][0]["keeps_bits"] == true);
  CHECK(row["implementations"][1]["keeps_bits"] == false);
  CHECK(row["implementations"][1]["stages"][0] ==
        nlohmann::json({{"stage", "decode"}, {"rows", 8}, {"equal", 2}}));
  CHECK(row["implementations"][2]["error"]["code"] == "io");
  CHECK(row["times"][0]["ratio"] == 1.5);
  CHECK(row["times"][0]["peers"][0]["ratio"] == 0.5);
  CHECK_FALSE(row.contains("error"));
  result.rows[0].error = Error{ErrorCode::unsupported, "no plan"};
  document = nlohmann::json::parse(to_json(result));
  CHECK(document["results"][0]["error"]["code"] == "unsupported");
}

TEST_CASE("a row is good if invariant numerics keep every bit and every timed run is correct") {
  InvarianceResult result{"", 1, 1, {compared_row()}};
  CHECK(result.good());  // whatever fast numerics and peers do
  const auto bad_with = [&](const auto& change) {
    InvarianceResult changed = result;
    change(changed.rows.front());
    return !changed.good();
  };
  CHECK(bad_with([](InvarianceRow& row) { row.subjects[0].stages[1].equal = 63; }));
  CHECK(bad_with([](InvarianceRow& row) { row.subjects[0].stages.clear(); }));
  CHECK(bad_with([](InvarianceRow& row) { row.subjects[0].error = Error{ErrorCode::io, "lost"}; }));
  CHECK(bad_with([](InvarianceRow& row) { row.times[0].correct = false; }));
  CHECK(bad_with([](InvarianceRow& row) { row.error = Error{ErrorCode::io, "lost"}; }));
}
