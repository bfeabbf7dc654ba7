// SPDX-License-Identifier: Apache-2.0
#include "rounds.hpp"

#include <algorithm>
#include <chrono>

namespace cubinet::bench {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Rounds::median_seconds(std::size_t contender) const {
  return median(seconds_[contender]);
}

double Rounds::median_ratio(std::size_t numerator, std::size_t denominator) const {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < seconds_[numerator].size(); ++round) {
    ratios.push_back(seconds_[numerator][round] / seconds_[denominator][round]);
  }
  return median(std::move(ratios));
}

Result<Rounds> run_rounds(const std::vector<Contender>& contenders, int rounds) {
  std::vector<std::string> names;
  for (const Contender& contender : contenders) {
    names.push_back(contender.name);
    CUBINET_TRY(contender.run());
  }
  std::vector<std::vector<double>> seconds(contenders.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t place = 0; place < contenders.size(); ++place) {
      const std::size_t index = round % 2 == 0 ? place : contenders.size() - 1 - place;
      CUBINET_TRY_ASSIGN(const double measured, contenders[index].run());
      seconds[index].push_back(measured);
    }
  }
  return Rounds(std::move(names), std::move(seconds));
}

}  // namespace cubinet::bench
