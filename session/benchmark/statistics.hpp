// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace cubinet {

// Returns the median. For an even number of values, returns the upper one of the middle two.
// REQUIRES: values is not empty.
double median_of(std::vector<double> values);
// Returns the median of the ratios of two series from the same rounds. REQUIRES: both have the same
// size, which is not 0.
double median_ratio(const std::vector<double>& values, const std::vector<double>& by);
// Returns the standard deviation of a sample; 0 for fewer than two values.
double standard_deviation(const std::vector<double>& values);
// Returns the mean of sequence lengths. REQUIRES: lengths is not empty.
double mean_length(const std::vector<std::int32_t>& lengths);

}  // namespace cubinet
