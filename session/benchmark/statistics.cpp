// SPDX-License-Identifier: Apache-2.0
#include "benchmark/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>

namespace cubinet {

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_ratio(const std::vector<double>& values, const std::vector<double>& by) {
  std::vector<double> ratios(values.size());
  std::transform(values.begin(), values.end(), by.begin(), ratios.begin(), std::divides<>());
  return median_of(std::move(ratios));
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (const double value : values)
    sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double mean_length(const std::vector<std::int32_t>& lengths) {
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  return sum / static_cast<double>(lengths.size());
}

}  // namespace cubinet
