// SPDX-License-Identifier: Apache-2.0
#include "refusal_counts.hpp"

namespace cubinet {

bool RefusalCounts::note(std::string kernel, int device, std::string_view caller) {
  Key key(std::move(kernel), device, caller);
  const std::lock_guard lock(mutex_);
  const auto known = counts_.find(key);
  if (known != counts_.end()) {
    ++known->second;
    return false;
  }
  if (counts_.size() >= kMaximumRefusals) {
    ++others_;
    return false;
  }
  counts_.emplace(std::move(key), 1);
  return true;
}

void RefusalCounts::reset() {
  const std::lock_guard lock(mutex_);
  counts_.clear();
  others_ = 0;
  fallbacks_.store(0, std::memory_order_relaxed);
}

Refusals RefusalCounts::read() const {
  Refusals refusals;
  refusals.fallbacks = fallbacks_.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  refusals.others = others_;
  for (const auto& [key, count] : counts_)
    refusals.entries.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
  return refusals;
}

}  // namespace cubinet
