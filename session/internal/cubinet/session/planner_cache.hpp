// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/planner.hpp>
#include <cubinet/base/fork_guard.hpp>
#include <cubinet/runtime.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

namespace cubinet {

// The planners of one Runtime, one for each device. Creating one reads the rows of every store, so
// it is kept until the stores change in this process (Runtime::store_changes()). Thread-safe.
class PlannerCache {
 public:
  // Refers to the Runtime, which must outlive the cache.
  explicit PlannerCache(Runtime& runtime) : runtime_(runtime) {}

  struct Found {
    std::shared_ptr<const AttentionPlanner> planner;
    bool fresh = false;  // if true, this call has read the rows
  };
  // Returns the device's planner. Blocks on files and servers only if its rows must be read.
  // Threads that need rows at the same time each read them. Returns the errors of
  // AttentionPlanner::create.
  Result<Found> find(const DeviceFacts& device, std::string_view device_name);
  // Drops all planners, for example after another process has removed a build that one named.
  void forget();

 private:
  using Key = std::tuple<ComputeCapability, std::uint32_t, std::uint32_t, std::string>;
  struct Kept {
    std::uint64_t changes = 0;
    std::shared_ptr<const AttentionPlanner> planner;
  };

  Runtime& runtime_;
  ForkGuard fork_guard_;
  std::mutex mutex_;
  std::map<Key, Kept> planners_;
};

}  // namespace cubinet
