// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local/file_store.hpp"

#include <cstdint>
#include <set>
#include <vector>

namespace cubinet {

// What goes together: the records that name one image, since its bytes are free only when the last of them is
// gone; or an import.
struct Evictable {
  CubinRecords records;
  std::uint64_t import = 0;  // its number, where it is one
  std::uint64_t bytes = 0;   // that its removal frees
  std::int64_t since = 0;    // last used, or published where it never was; in seconds since the epoch
  bool pinned = false;
};

struct EvictionPlan {
  std::vector<Evictable> out;  // what was not used for longest first
  std::uint64_t kept_bytes = 0;
  std::uint64_t pinned_bytes = 0;
  std::uint64_t recent_bytes = 0;
};

// Not of the future, as a clock wrote it that was wrong. Those of two nodes may differ a little.
bool is_believed(std::int64_t time, std::int64_t now);

// Nothing goes while all of it is no more than `high`; then down to `low`, less what is pinned and what was
// published or noted as used within two hours: since a use is noted once in an hour, that is everything that
// was used within the last one. A pure function of its arguments.
EvictionPlan plan_eviction(std::vector<Evictable> all, const SizeLimit& limit, std::int64_t now);

}  // namespace cubinet
