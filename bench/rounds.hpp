// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/base/result.hpp>

#include <functional>
#include <string>
#include <vector>

namespace cubinet::bench {

// One of the things that are compared. `run` does its work once and returns the seconds that count: what it
// prepares and cleans up is not among them.
struct Contender {
  std::string name;
  std::function<Result<double>()> run;
};

// Seconds by contender and round.
class Rounds {
 public:
  Rounds(std::vector<std::string> names, std::vector<std::vector<double>> seconds)
      : names_(std::move(names)), seconds_(std::move(seconds)) {}

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<double>& seconds(std::size_t contender) const { return seconds_[contender]; }
  double median_seconds(std::size_t contender) const;
  // The median of the ratios of each round, so that what slows a whole round down falls out.
  double median_ratio(std::size_t numerator, std::size_t denominator) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<double>> seconds_;
};

// Runs all contenders once unmeasured, then `rounds` times, forwards in even rounds and backwards in odd
// ones, so that neither a drift nor a place in the order favours one of them.
Result<Rounds> run_rounds(const std::vector<Contender>& contenders, int rounds);

// REQUIRES: not empty. The mean of the middle two when their number is even.
double median(std::vector<double> values);

// Seconds since an arbitrary point, monotonic.
double now_seconds();

}  // namespace cubinet::bench
