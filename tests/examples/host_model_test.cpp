// SPDX-License-Identifier: Apache-2.0
#include "serving_loop/host_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace serving_loop;

TEST_CASE("a row that sees one token is its V") {
  const Weights weights = make_weights(4);
  const std::vector<double> row = attend(weights, std::vector<Token>{5});
  std::vector<std::uint16_t> expected;
  for (std::size_t head = 0; head < kHeads; ++head) {
    for (std::size_t i = 0; i < kHeadDim; ++i)
      expected.push_back(weights.qkv[5 * kQkvRow + kRow + kKvRow + head / 4 * kHeadDim + i]);
  }
  CHECK(relative_error(expected, row) == 0);
  CHECK(relative_error(std::vector<std::uint16_t>(kRow), row) == doctest::Approx(1));
  expected[7] = 0x7fff;
  CHECK(std::isnan(relative_error(expected, row)));
}

TEST_CASE("a row depends on the order of the tokens that it sees") {
  const Weights weights = make_weights(4);
  const std::vector<double> first = attend(weights, std::vector<Token>{1, 2, 3});
  CHECK(attend(weights, std::vector<Token>{1, 2, 3}) == first);
  const std::vector<double> second = attend(weights, std::vector<Token>{2, 1, 3});
  double difference = 0;
  for (std::size_t i = 0; i < kRow; ++i)
    difference = std::max(difference, std::abs(first[i] - second[i]));
  CHECK(difference > 0.01);
}
