// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/duration_histogram.hpp>

#include <algorithm>
#include <atomic>

namespace cubinet {

// A DurationHistogram that threads add to. Lock-free. A read may miss additions that are made
// meanwhile, also of one of the two members alone.
class AtomicHistogram {
 public:
  // Negative durations count as 0.
  void add(double seconds) {
    const auto& bounds = DurationHistogram::kBounds;
    const double duration = std::max(seconds, 0.0);
    const auto bucket =
        static_cast<std::size_t>(std::lower_bound(bounds.begin(), bounds.end(), duration) - bounds.begin());
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<std::uint64_t>(duration * kPerSecond), std::memory_order_relaxed);
  }
  // Counts a phase that a request had.
  void add_if_any(double seconds) {
    if (seconds > 0) add(seconds);
  }
  DurationHistogram read() const {
    DurationHistogram histogram;
    for (std::size_t i = 0; i < buckets_.size(); ++i)
      histogram.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    histogram.seconds = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / kPerSecond;
    return histogram;
  }

 private:
  static constexpr double kPerSecond = 1e9;
  std::array<std::atomic<std::uint64_t>, DurationHistogram::kBounds.size() + 1> buckets_ = {};
  std::atomic<std::uint64_t> nanoseconds_{0};
};

}  // namespace cubinet
