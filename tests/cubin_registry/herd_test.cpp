// SPDX-License-Identifier: Apache-2.0
// Many threads of several processes want the same kernels at the same moment.
#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "support/skip.hpp"

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

constexpr int kThreads = 16;
constexpr int kKernels = 8;

// What the facade does: look, lock, look again, build, publish. Counts wrong answers and builds; a build
// leaves a line in `builds`, so that those of all processes are counted.
int ask_for_everything(Home& registry, const fs::path& builds) {
  std::atomic<int> wrong{0};
  const auto get = [&](int number) {
    const Cubin cubin = cubin_of(number);
    const auto find = [&]() -> bool {
      const auto found = registry.find(cubin.record->identity.kernel());
      if (!found || found->empty()) return false;
      const auto loaded = registry.load(found->front());
      if (loaded && *loaded && *(*loaded)->image != *cubin.image) ++wrong;
      return loaded && *loaded;
    };
    if (find()) return;
    const auto lock = registry.lock_for_build(cubin.record->identity, cubin.record->fingerprint);
    if (!lock) ++wrong;
    if (find()) return;
    std::ofstream(builds, std::ios::app) << number << std::endl;
    if (!registry.publish(cubin)) ++wrong;
    if (!find()) ++wrong;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < kKernels; ++j)
        get((i + j) % kKernels);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return wrong;
}

std::size_t lines_of(const fs::path& file) {
  const Bytes bytes = read_file(file);
  return static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), std::byte{'\n'}));
}

TEST_CASE("sixteen threads of one registry build each kernel once") {
  HomeFixture home;
  auto registry = home.open();
  CHECK(ask_for_everything(*registry, home.folder / "builds") == 0);
  CHECK(lines_of(home.folder / "builds") == kKernels);
  CHECK(registry->verify()->findings.empty());
  CHECK(registry->stats()->entries == kKernels);
}

TEST_CASE("two processes of sixteen threads, the home not there yet, build each kernel once") {
  if (!can_fork()) return skip("forks");
  for (int round = 0; round < 5; ++round) {
    HomeFixture home;
    std::vector<pid_t> children;
    for (int i = 0; i < 2; ++i) {
      children.push_back(::fork());
      if (children.back() == 0) {
        auto registry = Home::open(home.options());
        ::_exit(registry ? ask_for_everything(**registry, home.folder / "builds") : 100);
      }
    }
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
    CHECK(lines_of(home.folder / "builds") == kKernels);
    auto registry = home.open();
    for (int i = 0; i < kKernels; ++i)
      CHECK(serves(*registry, cubin_of(i)));
    CHECK(registry->verify()->findings.empty());
    CHECK(registry->stats()->entries == kKernels);
  }
}

TEST_CASE("what sixteen processes publish at once is listed, counted and indexed whole") {
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  constexpr int kProcesses = 16;
  constexpr int kEach = 12;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    auto registry = Home::open(home.options());
    int failed = registry ? 0 : 100;
    for (int i = 0; i < kEach && failed == 0; ++i) {
      if (!(*registry)->publish(cubin_of(kEach * process + i))) failed = 1;
      // A list in between trusts no index that another process is about to write.
      const auto listed = (*registry)->list();
      if (!listed || listed->size() < static_cast<std::size_t>(i) + 1) failed = 2;
    }
    ::_exit(failed);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  for (const auto access : {HomeOptions::Access::read_only, HomeOptions::Access::read_write}) {
    const auto registry = home.open(access);
    CHECK(registry->list()->size() == kProcesses * kEach);
    CHECK(registry->stats()->entries == kProcesses * kEach);
  }
  CHECK(home.open()->verify()->findings.empty());
}

TEST_CASE("publishing, removing, sweeping and looking up at once never give wrong bytes") {
  HomeFixture home;
  auto registry = home.open();
  auto second = home.open();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Home& mine = i % 2 == 0 ? *registry : *second;
      for (int round = 0; round < 30; ++round) {
        const Cubin cubin = cubin_of(round % 3);
        if (i < 4) {
          if (!mine.publish(cubin)) ++wrong;
        } else if (i < 6) {
          if (!mine.remove({cubin.record})) ++wrong;
        } else {
          const auto found = mine.find(cubin.record->identity.kernel());
          if (!found) ++wrong;
          for (const auto& record : *found) {
            const auto loaded = mine.load(record);
            if (!loaded || (*loaded && *(*loaded)->image != *cubin.image)) ++wrong;
          }
          if (round % 10 == 0 && !mine.sweep()) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(registry->verify()->findings.empty());
  CHECK(registry->stats()->quarantined == 0);
}

}  // namespace
}  // namespace cubinet::test
