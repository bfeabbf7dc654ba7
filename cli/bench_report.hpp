// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_cases.hpp"
#include "checked_attention.hpp"

#include <cubinet/attention/measure.hpp>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet::cli {

// What another implementation takes for a case, in the rounds of ours.
struct PeerTimes {
  std::string name;
  std::string what;             // how it calls itself, or why it has no times
  std::vector<double> seconds;  // of one run; empty: it could not, or would not
  // ||o - ref|| / ||ref|| over its whole output, of our inputs; nullopt: it was not asked, or gave none.
  std::optional<double> error = std::nullopt;
};

// A goal of the case and where the row stands.
struct JudgedGoal {
  std::string text;
  std::optional<double> reached;  // nullopt: not measured
  bool met = false;
};

// One backend's times on one case.
struct BenchRow {
  BenchCase measured;
  AttentionProblem problem;
  double mean_kv_length = 0;
  std::string requested;  // the backend that was asked for
  std::string backend;    // the one that ran
  std::string choice;     // AttentionPlan::measured
  AttentionWork work;
  AttentionVerdict verdict;
  std::uint32_t splits = 0;
  std::vector<double> seconds;       // of one run, in the order of the rounds
  std::vector<double> read_seconds;  // of the kernel that reads K and V alone, in the same rounds
  std::vector<PeerTimes> peers;      // in the order of the line
  std::vector<JudgedGoal> goals;
  std::optional<Error> error;  // why there are no times

  bool good() const { return !error && verdict.correct(); }
};

// The middle one; of an even number the upper of the two. REQUIRES: at least one.
double median_of(std::vector<double> values);

// Of numbers of the same rounds: the middle of their ratios. REQUIRES: at least one, as many of both.
double median_ratio(const std::vector<double>& values, const std::vector<double>& by);

// The case and who ran it, in words.
std::string title_of(const BenchRow& row);
// A line for people.
std::string to_line(const BenchRow& row);
// What is computed, as a document: of a row, and what a peer is told.
nlohmann::json describe_case(const BenchRow& row);
nlohmann::json describe(const BenchRow& row);
// The columns of FlashInfer's benchmark that attention has, and behind them ours; times in milliseconds as
// there. Numbers of operations and bytes are exact.
std::string csv_of(const std::vector<BenchRow>& rows, std::uint64_t seed);

}  // namespace cubinet::cli
