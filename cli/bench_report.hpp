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
  std::optional<Error> error;        // why there are no times

  bool good() const { return !error && verdict.correct(); }
};

// The middle one; of an even number the upper of the two. REQUIRES: at least one.
double median_of(std::vector<double> values);

// A line for people.
std::string to_line(const BenchRow& row);
nlohmann::json describe(const BenchRow& row);
// The columns of FlashInfer's benchmark that attention has, and behind them ours; times in milliseconds as
// there. Numbers of operations and bytes are exact.
std::string csv_of(const std::vector<BenchRow>& rows, std::uint64_t seed);

}  // namespace cubinet::cli
