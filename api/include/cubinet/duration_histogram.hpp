// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cubinet {

// Durations, counted by size. A plain value.
struct DurationHistogram {
  // The upper bounds of the buckets in seconds, inclusive and ascending. The last bucket has none.
  static constexpr std::array<double, 15> kBounds = {0.00001, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1,
                                                     0.5,     1,      2.5,    5,     10,    30,   120};
  std::array<std::uint64_t, kBounds.size() + 1> buckets = {};
  double seconds = 0;  // the sum

  std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const std::uint64_t bucket : buckets)
      all += bucket;
    return all;
  }
};

}  // namespace cubinet
