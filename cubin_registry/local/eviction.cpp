// SPDX-License-Identifier: Apache-2.0
#include "local/eviction.hpp"

#include <algorithm>
#include <tuple>

namespace cubinet {
namespace {

// Uses are recorded to the minute.
constexpr std::int64_t kRecent = 2 * 3'600 + 60;
constexpr std::int64_t kClocksDiffer = 3'600;

// Orders candidates so that every process gets the same result: equal times are ordered by digest
// or number.
bool goes_before(const Evictable& a, const Evictable& b) {
  const auto name = [](const Evictable& each) {
    return each.records.empty() ? Sha256Digest{} : each.records.front()->digest;
  };
  return std::tuple(a.since, a.import, name(a)) < std::tuple(b.since, b.import, name(b));
}

}  // namespace

bool is_believed(std::int64_t time, std::int64_t now) {
  return time <= now + kClocksDiffer;
}

EvictionPlan plan_eviction(std::vector<Evictable> all, const SizeLimit& limit, std::int64_t now) {
  EvictionPlan plan;
  for (const Evictable& each : all)
    plan.kept_bytes += each.bytes;
  const bool exceeded = plan.kept_bytes > limit.high;
  std::sort(all.begin(), all.end(), goes_before);
  for (Evictable& each : all) {
    const bool recent = now - each.since < kRecent;
    if (each.pinned) {
      plan.pinned_bytes += each.bytes;
    } else if (recent) {
      plan.recent_bytes += each.bytes;
    } else if (exceeded && plan.kept_bytes > limit.low && each.bytes > 0) {
      plan.kept_bytes -= each.bytes;
      plan.out.push_back(std::move(each));
    }
  }
  return plan;
}

}  // namespace cubinet
