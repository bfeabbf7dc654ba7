// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace cubinet {

// The number of resets of each device (Runtime::forget). Thread-safe.
class ResetCounts {
 public:
  std::uint64_t of(int device) const {
    const std::lock_guard lock(mutex_);
    const auto count = counts_.find(device);
    return count == counts_.end() ? 0 : count->second;
  }
  void add(int device) {
    const std::lock_guard lock(mutex_);
    ++counts_[device];
  }

 private:
  mutable std::mutex mutex_;
  std::map<int, std::uint64_t> counts_;
};

}  // namespace cubinet
