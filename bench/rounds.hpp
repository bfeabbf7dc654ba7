// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cubinet::bench {

// One of the compared implementations. `run` does its work once and returns the seconds that count,
// without preparation and cleanup.
struct Contender {
  std::string name;
  std::function<Result<double>()> run;
};

// The seconds of each contender and round.
class Rounds {
 public:
  Rounds(std::vector<std::string> names, std::vector<std::vector<double>> seconds)
      : names_(std::move(names)), seconds_(std::move(seconds)) {}

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<double>& seconds(std::size_t contender) const { return seconds_[contender]; }
  double median_seconds(std::size_t contender) const;
  // Returns the median of the ratios of each round, so that a slow round has no effect.
  double median_ratio(std::size_t numerator, std::size_t denominator) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<double>> seconds_;
};

// Runs all contenders once without measuring, then `rounds` times, forwards in even rounds and
// backwards in odd ones, so that neither drift nor the order favours one of them.
Result<Rounds> run_rounds(const std::vector<Contender>& contenders, int rounds);

// Returns the median: the mean of the middle two for an even number. REQUIRES: not empty.
double median(std::vector<double> values);

// Returns the seconds since an arbitrary point, monotonic.
double now_seconds();

}  // namespace cubinet::bench
