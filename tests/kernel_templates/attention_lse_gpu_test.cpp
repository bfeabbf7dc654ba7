// SPDX-License-Identifier: Apache-2.0
// Compares attention_lse with float64. Needs a GPU and NVRTC.
#include "kernel_templates/template_gpu.hpp"

#include <cubinet/kernel_templates/attention_lse_parameters.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace cubinet {
namespace {

constexpr std::uint32_t kRowsPerBlock = 512;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns random statistics. Some rows saw no key and state this in each of the ways that kernels
// use.
std::vector<float> random_stats(std::size_t rows) {
  std::mt19937 random(3);
  std::normal_distribution<float> maximum(0, 30);
  std::uniform_real_distribution<float> magnitude(-2, 12);
  std::vector<float> stats;
  for (std::size_t row = 0; row < rows; ++row) {
    constexpr float kOfNothing[] = {-kInfinity, 0.0f, std::numeric_limits<float>::lowest()};
    const bool empty = row % 7 == 2;
    stats.push_back(empty ? kOfNothing[row % 3] : maximum(random));
    stats.push_back(empty ? 0.0f : std::exp2(magnitude(random)));
  }
  return stats;
}

// Returns the number of rows that differ from float64 by more than rounding allows, plus the values
// written outside the rows.
std::size_t wrong_rows(const test::TemplateGpu& gpu, std::size_t rows) {
  const std::vector<float> stats = random_stats(rows);
  // One float precedes the result, so that it is only aligned to 4 bytes. A few floats follow it.
  std::vector<float> lse(rows + 5, 12345.0f);
  const DeviceBuffer device_stats = gpu.upload(stats);
  const DeviceBuffer device_lse = gpu.upload(lse);
  kernel_templates::AttentionLseParameters parameters{};
  parameters.softmax_stats = device_stats.address();
  parameters.lse = device_lse.address() + sizeof(float);
  parameters.rows = static_cast<long long>(rows);
  const auto blocks = (static_cast<std::uint32_t>(rows) + kRowsPerBlock - 1) / kRowsPerBlock;
  gpu.run(KernelSpec{"attention_lse", {}}, {blocks, 1, 1}, parameters);
  test::ok(device_lse.copy_to(lse));

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (i == 0 || i > rows) {
      if (lse[i] != 12345.0f) ++wrong;
      continue;
    }
    const auto maximum = static_cast<double>(stats[2 * i - 2]);
    const auto sum = static_cast<double>(stats[2 * i - 1]);
    const double expected = maximum + std::log(sum);
    const double allowed = 1e-6 * (1 + std::abs(expected));
    const bool right =
        sum == 0 ? lse[i] == -kInfinity : std::abs(static_cast<double>(lse[i]) - expected) <= allowed;
    if (!right) ++wrong;
  }
  return wrong;
}

TEST_CASE(
    "Logarithms of sums agree with float64 whatever the number of rows, those of nothing are minus "
    "infinity") {
  const auto gpu = test::TemplateGpu::open();
  if (!gpu) return;
  for (const std::size_t rows : {1U, 2U, 3U, 511U, 512U, 513U, 100'003U}) {
    CAPTURE(rows);
    CHECK(wrong_rows(*gpu, rows) == 0);
  }
}

}  // namespace
}  // namespace cubinet
