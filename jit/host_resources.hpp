// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace cubinet {

// The machine's resources that this process may use now.
struct HostResources {
  unsigned cores = 1;
  std::uint64_t available_bytes = 0;
};

// Reads the scheduler's mask and /proc/meminfo, and applies the limits of the process's control
// groups (versions 1 and 2) and their parents. Of a limited address space, half of the rest is
// available. `root` precedes /proc and /sys, for tests. Unreadable files impose no limit.
HostResources read_host_resources(const std::filesystem::path& root = "/");

}  // namespace cubinet
