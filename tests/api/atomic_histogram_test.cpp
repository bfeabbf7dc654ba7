// SPDX-License-Identifier: Apache-2.0
#include "atomic_histogram.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <thread>
#include <vector>

using namespace cubinet;

TEST_CASE("a duration is counted in the first bucket whose bound it does not exceed") {
  for (std::size_t i = 0; i < DurationHistogram::kBounds.size(); ++i) {
    AtomicHistogram histogram;
    histogram.add(DurationHistogram::kBounds[i]);
    CHECK(histogram.read().buckets[i] == 1);
    histogram.add(DurationHistogram::kBounds[i] * 1.0001);
    CHECK(histogram.read().buckets[i + 1] == 1);
  }
}

TEST_CASE("negative durations count as zero, and phases without a duration are not counted") {
  AtomicHistogram histogram;
  histogram.add(-1);
  histogram.add_if_any(0);
  CHECK(histogram.read().count() == 1);
  CHECK(histogram.read().seconds == 0);
  histogram.add_if_any(0.25);
  CHECK(histogram.read().count() == 2);
  CHECK(histogram.read().seconds == doctest::Approx(0.25));
}

TEST_CASE("threads that add at once lose nothing") {
  AtomicHistogram histogram;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j)
        histogram.add(0.001);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(histogram.read().count() == 4000);
  CHECK(histogram.read().seconds == doctest::Approx(4.0));
}
