// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace cubinet::bench {

// Counts durations in buckets whose width is 1/32 of their power of two, so a quantile is exact to
// about 3 %. One thread writes it.
class LatencyHistogram {
 public:
  void add(std::uint64_t nanoseconds) {
    ++counts_[bucket(nanoseconds)];
    ++total_;
    if (nanoseconds > maximum_) maximum_ = nanoseconds;
  }
  void merge(const LatencyHistogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      counts_[i] += other.counts_[i];
    total_ += other.total_;
    if (other.maximum_ > maximum_) maximum_ = other.maximum_;
  }
  std::uint64_t total() const { return total_; }
  std::uint64_t maximum() const { return maximum_; }
  // Returns the lower limit of the bucket that holds the quantile, in nanoseconds.
  std::uint64_t quantile(double share) const {
    const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      below += counts_[i];
      if (below > rank) return lower_limit(i);
    }
    return maximum_;
  }

 private:
  static constexpr unsigned kBits = 5;
  static std::size_t bucket(std::uint64_t value) {
    if (value < (1U << kBits)) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
    return (std::size_t{shift + 1} << kBits) + ((value >> shift) & ((1U << kBits) - 1));
  }
  static std::uint64_t lower_limit(std::size_t bucket) {
    if (bucket < (1U << kBits)) return bucket;
    const std::size_t shift = (bucket >> kBits) - 1;
    return (std::uint64_t{1} << (shift + kBits)) + ((bucket & ((1U << kBits) - 1)) << shift);
  }

  std::array<std::uint64_t, std::size_t{64 - kBits + 1} << kBits> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t maximum_ = 0;
};

}  // namespace cubinet::bench
