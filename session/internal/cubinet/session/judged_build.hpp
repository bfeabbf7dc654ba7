// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/runtime.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cubinet {

// Returns whether a build can become out of date. Kernels that were added, adopted or imported have
// no current build that could replace them.
bool can_be_stale(const CubinRecord& record);

// A stored build and whether a request would use it now.
struct JudgedBuild {
  std::shared_ptr<const CubinRecord> record;
  // nullopt: it cannot become out of date, or its status cannot be determined.
  std::optional<BuildStatus> status = {};
  std::string verdict = {};  // the reason, as a sentence; empty if it cannot become out of date

  bool outdated() const { return status && !is_usable(*status); }
};
JudgedBuild judged_build(Runtime& runtime, std::shared_ptr<const CubinRecord> record);

}  // namespace cubinet
