// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace cubinet {
namespace {

TEST_CASE("frequencies fall from one by the base, and a stretched context makes all of them slower") {
  const std::vector<double> frequencies = rope_frequencies(128, 500'000);
  REQUIRE(frequencies.size() == 64);
  CHECK(frequencies[0] == 1);
  CHECK(frequencies[32] == doctest::Approx(1 / std::sqrt(500'000.0)));
  CHECK(rope_frequencies(128, 500'000, 4)[32] == doctest::Approx(frequencies[32] / 4));
}

TEST_CASE("a row of the table is a position, its cosines before its sines, exact at far positions too") {
  const std::vector<double> frequencies = rope_frequencies(32);
  const std::vector<float> table = rope_table(frequencies, 100'001, 0.5);
  REQUIRE(table.size() == 100'001 * 32);
  CHECK(table[0] == 0.5f);
  CHECK(table[16] == 0.0f);
  const float* const last = table.data() + std::size_t{100'000} * 32;
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(last[i] == static_cast<float>(0.5 * std::cos(100'000 * frequencies[i])));
    CHECK(last[16 + i] == static_cast<float>(0.5 * std::sin(100'000 * frequencies[i])));
  }
}

}  // namespace
}  // namespace cubinet
