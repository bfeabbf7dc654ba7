// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/freeze.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

namespace cubinet {

// The counts behind Runtime::refusals(). Thread-safe.
class RefusalCounts {
 public:
  // Counts a refused request of the calling thread. Returns true for the first of its kind, as far
  // as kinds are kept.
  bool note(std::string kernel, int device, std::string_view caller);
  void note_fallback() { fallbacks_.fetch_add(1, std::memory_order_relaxed); }
  void reset();
  Refusals read() const;  // without `frozen`

 private:
  using Key = std::tuple<std::string, int, std::string>;

  mutable std::mutex mutex_;
  std::map<Key, std::uint64_t> counts_;
  std::uint64_t others_ = 0;
  std::atomic<std::uint64_t> fallbacks_{0};
};

}  // namespace cubinet
