// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/problem.hpp>

#include <cmath>
#include <cstddef>

namespace cubinet {

std::vector<double> rope_frequencies(std::uint32_t rope_dim, double theta, double stretch) {
  std::vector<double> frequencies(rope_dim / 2);
  for (std::size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = std::pow(theta, -2.0 * static_cast<double>(i) / rope_dim) / stretch;
  return frequencies;
}

std::vector<float> rope_table(const std::vector<double>& frequencies, std::uint32_t positions,
                              double factor) {
  const std::size_t half = frequencies.size();
  std::vector<float> table(positions * 2 * half);
  for (std::size_t position = 0; position < positions; ++position) {
    float* const row = table.data() + position * 2 * half;
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * frequencies[i];
      row[i] = static_cast<float>(factor * std::cos(angle));
      row[half + i] = static_cast<float>(factor * std::sin(angle));
    }
  }
  return table;
}

}  // namespace cubinet
