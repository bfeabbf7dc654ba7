// SPDX-License-Identifier: Apache-2.0
#include "host_resources.hpp"

#include "support/temp_dir.hpp"

#include <cubinet/jit/compiler.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <thread>

using namespace cubinet;

namespace {

struct FakeMachine {
  test::TempDir root;

  void write(std::string_view name, std::string_view text) const {
    const auto path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::trunc) << text << "\n";
  }
  HostResources read() const { return read_host_resources(root.path()); }
};

}  // namespace

TEST_CASE("jobs are limited by cores and by memory and never none") {
  CHECK(jobs_within(16, UINT64_MAX) == 16);
  CHECK(jobs_within(16, kBytesPerCompilation * 4) == 4);
  CHECK(jobs_within(16, kBytesPerCompilation * 4 - 1) == 3);
  CHECK(jobs_within(16, 0) == 1);
  CHECK(jobs_within(0, UINT64_MAX) == 1);
  CHECK(default_jobs() >= 1);
  CHECK(default_jobs() <= std::max(std::thread::hardware_concurrency(), 1U));
}

TEST_CASE("available memory is read from the kernel") {
  const FakeMachine machine;
  machine.write("proc/meminfo", "MemTotal:       4000000 kB\nMemFree: 5 kB\nMemAvailable:   2000000 kB");
  CHECK(machine.read().available_bytes == 2000000ULL * 1024);
  machine.write("proc/meminfo", "MemAvailable: rubbish");
  CHECK(machine.read().available_bytes > std::uint64_t{1} << 40);
}

TEST_CASE("half of the address space that the limit of the process leaves is available") {
  const FakeMachine machine;
  machine.write("proc/meminfo", "MemAvailable:   16000000 kB");
  machine.write("proc/self/status", "VmPeak:   900000 kB\nVmSize:   200000 kB");
  machine.write("proc/self/limits",
                "Max data size             unlimited            unlimited            bytes\n"
                "Max address space         1024000000           unlimited            bytes");
  CHECK(machine.read().available_bytes == (1024000000 - 200000ULL * 1024) / 2);
  machine.write("proc/self/limits", "Max address space         1000           1000            bytes");
  CHECK(machine.read().available_bytes == 0);
  machine.write("proc/self/limits",
                "Max address space         unlimited            unlimited            bytes");
  CHECK(machine.read().available_bytes == 16000000ULL * 1024);
}

TEST_CASE("a control group of version 2 and those above it limit memory and cores") {
  const FakeMachine machine;
  machine.write("proc/meminfo", "MemAvailable:   16000000 kB");
  machine.write("proc/self/cgroup", "0::/outer/inner");
  machine.write("sys/fs/cgroup/outer/memory.max", "2000000000");
  machine.write("sys/fs/cgroup/outer/memory.current", "1500000000");
  machine.write("sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 300000000");
  machine.write("sys/fs/cgroup/outer/inner/memory.max", "max");
  machine.write("sys/fs/cgroup/outer/inner/memory.current", "1000");
  machine.write("sys/fs/cgroup/outer/inner/cpu.max", "50000 100000");
  const HostResources resources = machine.read();
  CHECK(resources.available_bytes == 800000000);
  CHECK(resources.cores == 1);
}

TEST_CASE("a control group that uses more than its limit leaves nothing") {
  const FakeMachine machine;
  machine.write("proc/self/cgroup", "0::/");
  machine.write("sys/fs/cgroup/memory.max", "1000");
  machine.write("sys/fs/cgroup/memory.current", "5000");
  CHECK(machine.read().available_bytes == 0);
}

TEST_CASE("control groups of version 1 limit too") {
  const FakeMachine machine;
  machine.write("proc/meminfo", "MemAvailable:   16000000 kB");
  machine.write("proc/self/cgroup", "12:memory:/box\n3:cpu,cpuacct:/box\nrubbish\n1:name=systemd:/x");
  machine.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "700000000");
  machine.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "100000000");
  machine.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1");
  machine.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000");
  CHECK(machine.read().available_bytes == 600000000);
  CHECK(machine.read().cores >= 1);
  machine.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "100000");
  CHECK(machine.read().cores == 1);
}
