// SPDX-License-Identifier: Apache-2.0
#include <cubinet/session/planner_cache.hpp>

namespace cubinet {
namespace {

// The most devices with a planner. Callers may name devices that are not in the machine.
constexpr std::size_t kMostPlanners = 16;

}  // namespace

Result<PlannerCache::Found> PlannerCache::find(const DeviceFacts& device, std::string_view device_name) {
  // In a forked child a thread that does not exist may hold the mutex. Reading rows is an error
  // there.
  const bool usable = fork_guard_.in_original_process();
  Key key{device.capability, device.sm_count, device.maximum_shared_bytes, std::string(device_name)};
  // Read before the rows, so that a change meanwhile leads to another reading.
  const std::uint64_t changes = runtime_.store_changes();
  if (usable) {
    const std::lock_guard lock(mutex_);
    const auto kept = planners_.find(key);
    if (kept != planners_.end() && kept->second.changes == changes) return Found{kept->second.planner, false};
  }
  CUBINET_TRY_ASSIGN(AttentionPlanner created, AttentionPlanner::create(runtime_, device, device_name));
  auto planner = std::make_shared<const AttentionPlanner>(std::move(created));
  if (!usable) return Found{std::move(planner), true};
  const std::lock_guard lock(mutex_);
  if (planners_.size() >= kMostPlanners) planners_.clear();
  planners_[std::move(key)] = {changes, planner};
  return Found{std::move(planner), true};
}

void PlannerCache::forget() {
  if (!fork_guard_.in_original_process()) return;
  const std::lock_guard lock(mutex_);
  planners_.clear();
}

}  // namespace cubinet
