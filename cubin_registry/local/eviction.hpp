// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <cstdint>
#include <set>
#include <vector>

namespace cubinet {

// The unit of eviction: the records that name one image, because its bytes are freed only with the
// last of them, or an import.
struct Evictable {
  CubinRecords records;
  std::uint64_t import = 0;  // the import's number; 0 for records
  std::uint64_t bytes = 0;   // bytes that its removal frees
  // Last use, or publication if it was never used, in seconds since the epoch.
  std::int64_t since = 0;
  bool pinned = false;
};

struct EvictionPlan {
  std::vector<Evictable> out;  // least recently used first
  std::uint64_t kept_bytes = 0;
  std::uint64_t pinned_bytes = 0;
  std::uint64_t recent_bytes = 0;
};

// Returns false for a time in the future, which a wrong clock wrote. Allows a small difference
// between the clocks of nodes.
bool is_believed(std::int64_t time, std::int64_t now);

// Plans an eviction. Nothing is evicted if the total is at most `high`. Otherwise entries are
// evicted down to `low`, except pinned ones and those published or recorded as used within two
// hours. A use is recorded once an hour, so this covers all uses within the last hour. Pure.
EvictionPlan plan_eviction(std::vector<Evictable> all, const SizeLimit& limit, std::int64_t now);

}  // namespace cubinet
