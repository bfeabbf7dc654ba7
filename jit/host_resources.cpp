// SPDX-License-Identifier: Apache-2.0
#include "host_resources.hpp"

#include <cubinet/jit/compiler.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sched.h>
#include <thread>

namespace cubinet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// Returns the first number in a file; kUnlimited if there is none, as in "max".
std::uint64_t number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  return stream >> value ? value : kUnlimited;
}

// Returns the number after a label: "MemAvailable:   123 kB" in /proc/meminfo, "inactive_file 123"
// in memory.stat.
std::uint64_t number_after(const fs::path& file, const std::string& label, std::uint64_t fallback) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(label)) continue;
    std::uint64_t value = 0;
    try {
      value = std::stoull(line.substr(label.size()));
    } catch (const std::exception&) {
      return fallback;
    }
    return value;
  }
  return fallback;
}

void limit_memory(HostResources& resources, const fs::path& group, const char* limit_name,
                  const char* usage_name) {
  const std::uint64_t limit = number_in(group / limit_name);
  const std::uint64_t usage = number_in(group / usage_name);
  if (limit == kUnlimited || usage == kUnlimited) return;
  // Inactive pages of files are reclaimed on demand.
  const std::uint64_t reclaimable = number_after(group / "memory.stat", "inactive_file ", 0);
  const std::uint64_t used = usage - std::min(usage, reclaimable);
  resources.available_bytes = std::min(resources.available_bytes, limit - std::min(limit, used));
}

// A limit on the address space (`ulimit -v`) makes a compilation fail or NVRTC crash. Half of the
// rest is available, because stacks, arenas of threads and a copy of NVRTC reserve about as much as
// is used.
void limit_by_address_space(HostResources& resources, const fs::path& process) {
  const std::uint64_t limit = number_after(process / "limits", "Max address space", kUnlimited);
  const std::uint64_t kilobytes = number_after(process / "status", "VmSize:", 0);
  if (limit == kUnlimited) return;
  const std::uint64_t left = limit - std::min(limit, kilobytes * 1024);
  resources.available_bytes = std::min(resources.available_bytes, left / 2);
}

void limit_cores(HostResources& resources, std::uint64_t quota, std::uint64_t period) {
  if (quota == kUnlimited || period == kUnlimited || period == 0) return;
  const std::uint64_t cores = std::max<std::uint64_t>((quota + period - 1) / period, 1);
  resources.cores = static_cast<unsigned>(std::min<std::uint64_t>(resources.cores, cores));
}

void limit_by_version_2(HostResources& resources, const fs::path& group) {
  limit_memory(resources, group, "memory.max", "memory.current");
  std::ifstream stream(group / "cpu.max");  // "100000 100000" or "max 100000"
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  if (stream >> quota >> period) limit_cores(resources, quota, period);
}

void limit_by_version_1(HostResources& resources, const fs::path& mount, const std::string& controllers,
                        const fs::path& group) {
  if (controllers.find("memory") != std::string::npos) {
    limit_memory(resources, mount / "memory" / group, "memory.limit_in_bytes", "memory.usage_in_bytes");
  }
  if (controllers.find("cpu") != std::string::npos) {
    const fs::path folder = mount / "cpu" / group;
    limit_cores(resources, number_in(folder / "cpu.cfs_quota_us"), number_in(folder / "cpu.cfs_period_us"));
  }
}

// Applies the limits of the process's control groups and of their parents. A line of
// /proc/self/cgroup is "0::/path" (version 2) or "4:memory:/path". In a container the root is the
// container's own group, whatever path the line shows.
void limit_by_control_groups(HostResources& resources, const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream stream(root / "proc/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    fs::path group = fs::path(line.substr(second + 1)).relative_path();
    while (true) {
      if (controllers.empty()) {
        limit_by_version_2(resources, mount / group);
      } else {
        limit_by_version_1(resources, mount, controllers, group);
      }
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
}

unsigned schedulable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
    return static_cast<unsigned>(CPU_COUNT(&set));
  }
  return std::max(std::thread::hardware_concurrency(), 1U);
}

}  // namespace

HostResources read_host_resources(const fs::path& root) {
  HostResources resources;
  resources.cores = schedulable_cores();
  const std::uint64_t kilobytes = number_after(root / "proc/meminfo", "MemAvailable:", kUnlimited / 1024);
  resources.available_bytes = kilobytes > kUnlimited / 1024 ? kUnlimited : kilobytes * 1024;
  limit_by_control_groups(resources, root);
  limit_by_address_space(resources, root / "proc/self");
  return resources;
}

unsigned jobs_within(unsigned jobs, std::uint64_t bytes) {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(bytes / kBytesPerCompilation, 1, std::max(jobs, 1U)));
}

unsigned default_jobs() {
  const HostResources resources = read_host_resources();
  return jobs_within(resources.cores, resources.available_bytes);
}

}  // namespace cubinet
