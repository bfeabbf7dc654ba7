// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/json_value.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cubinet {

// A measured quantity relative to another of the same case, such as another library's time.
struct ResultRatio {
  std::string of;    // the case
  std::string name;  // "cubinet : CuPy"
  double value = 0;
  bool larger_is_better = false;        // true for rates
  std::optional<double> goal = {};      // nullopt: none is stated
  std::optional<bool> met = {};         // the goal
  std::vector<std::string> times = {};  // "cubinet 4.31 us", of both sides if they are known

  // Returns how many times better the first side is; below 1 it is worse.
  double advantage() const { return larger_is_better ? value : 1 / value; }
};

// A goal that is not a ratio of two times, such as a bound of an error.
struct ResultGoal {
  std::string of;
  std::string name;
  std::optional<double> reached = {};
  bool met = false;
};

// The measured values of a case, as texts such as "kernel_us 8.71".
struct ResultValues {
  std::string of;
  std::vector<std::string> values;
};

// The results of a benchmark, as the project's benchmarks and the reports of attention benchmarks
// state them. A plain value.
struct BenchmarkResults {
  std::string benchmark = {};
  std::string commit = {};
  std::string date = {};
  std::string machine = {};
  std::vector<ResultRatio> ratios = {};   // worst first
  std::vector<ResultGoal> goals = {};     // those that were missed first
  std::vector<ResultValues> values = {};  // the rows without a ratio and without a goal
  std::size_t rows = 0;

  // Reads a document. Returns invalid_argument if it has no row with a number. `name`
  // names it in the message.
  static Result<BenchmarkResults> read(const JsonValue& document, const std::string& name);
};

}  // namespace cubinet
