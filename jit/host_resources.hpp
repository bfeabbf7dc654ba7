// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace cubinet {

// What this process may use of the machine at this moment.
struct HostResources {
  unsigned cores = 1;
  std::uint64_t available_bytes = 0;
};

// The scheduler's mask and /proc/meminfo, lowered by the limits of the process's control groups (versions 1
// and 2) and of those above. `root` stands before /proc and /sys, for tests. What cannot be read does not
// limit.
HostResources read_host_resources(const std::filesystem::path& root = "/");

}  // namespace cubinet
