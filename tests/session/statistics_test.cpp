// SPDX-License-Identifier: Apache-2.0
#include "benchmark/statistics.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

TEST_CASE("the median of an even number of values is the upper one") {
  CHECK(median_of({3, 1, 2}) == 2);
  CHECK(median_of({1}) == 1);
  CHECK(median_of({4, 1, 3, 2}) == 3);
}

TEST_CASE("a ratio of two series is that of the same rounds") {
  CHECK(median_ratio({1, 4, 9}, {1, 2, 3}) == 2);
}

TEST_CASE("a sample of one value does not deviate") {
  CHECK(standard_deviation({5}) == 0);
  CHECK(standard_deviation({1, 3}) == doctest::Approx(1.41421356));
}

TEST_CASE("the mean of lengths counts every sequence") {
  CHECK(mean_length({7}) == 7);
  CHECK(mean_length({1, 2, 2'000'000'000, 2'000'000'001}) == 1'000'000'001);
}
