// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "support/counted.hpp"
#include "support/ok.hpp"
#include "support/sampled.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

namespace cubinet::test {

struct FaultyHome {
  HomeFixture home;
  std::shared_ptr<FaultPlan> plan = std::make_shared<FaultPlan>();
  std::shared_ptr<FileSystem> files = faulty_file_system(plan);
  FaultyVfs vfs{plan};

  Result<std::shared_ptr<Home>> open() {
    HomeOptions options = home.options();
    options.files = files;
    return Home::open(options);
  }
  // Opens the home without faults.
  std::shared_ptr<Home> open_sound() {
    plan->set(FaultPlan::Kind::none, 0);
    auto registry = open();
    REQUIRE_MESSAGE(registry.has_value(), why_not(registry));
    return *std::move(registry);
  }
  // Opens the home without faults and checks that it serves `earlier` and that no file was set
  // aside as damaged.
  std::shared_ptr<Home> expect_sound(const Cubin& earlier) {
    auto registry = open_sound();
    CHECK(serves(*registry, earlier));
    CHECK(home.set_aside() == 0);
    return registry;
  }

  // Fills a home once. Every attempt starts with a copy of it.
  void prepare(const std::function<void(Home&)>& fill) {
    plan->set(FaultPlan::Kind::none, 0);
    std::filesystem::remove_all(home.home);
    std::filesystem::remove_all(prepared());
    fill(*open_sound());
    copy(home.home, prepared());
  }
  void prepare(const Cubin& earlier) {
    prepare([&](Home& registry) { REQUIRE(publishes(registry, earlier)); });
  }
  // Starts an attempt with a copy of the prepared home, or without a home if none is prepared.
  void start() {
    plan->set(FaultPlan::Kind::none, 0);
    std::filesystem::remove_all(home.home);
    if (std::filesystem::exists(prepared())) copy(prepared(), home.home);
  }

 private:
  std::filesystem::path prepared() const { return home.folder / "prepared"; }
  // Copies a folder. A link to a file elsewhere stays a link.
  static void copy(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::create_directory(to, from);
    for (const auto& entry : std::filesystem::directory_iterator(from)) {
      const auto target = to / entry.path().filename();
      if (entry.is_directory()) {
        copy(entry.path(), target);
      } else if (entry.hard_link_count() > 1) {
        std::filesystem::create_hard_link(entry.path(), target);
      } else {
        std::filesystem::copy_file(entry.path(), target);
      }
    }
  }
};

struct FaultCase {
  FaultPlan::Kind kind;
  int error_number;
  FaultPlan::Counts counts;
};
// An error of FileSystem is io, regardless of its number. SQLite distinguishes a full disk.
inline constexpr std::array<FaultCase, 4> kFaultCases = {
    {{FaultPlan::Kind::error_once, EIO, FaultPlan::Counts::all},
     {FaultPlan::Kind::error_once, ENOSPC, FaultPlan::Counts::of_sqlite},
     {FaultPlan::Kind::error_from_then_on, EIO, FaultPlan::Counts::all},
     {FaultPlan::Kind::error_from_then_on, ENOSPC, FaultPlan::Counts::of_sqlite}}};
inline constexpr std::span<const FaultCase> kErrorsOnce = std::span(kFaultCases).first(2);

// Runs `operation` with a fault at its first, second, ... call (at one call out of three, see
// one_of_each), in each of the ways that calls fail, and then `check`. Each run has a new home that
// is opened without faults. Returns about the number of calls if each fails once: not fewer, at
// most two more.
inline unsigned for_every_fault(FaultyHome& faulty, const std::function<void(Home&)>& operation,
                                const std::function<void()>& check,
                                std::span<const FaultCase> cases = kFaultCases) {
  unsigned most = 0;
  const std::size_t before = faulty.plan->failed();
  for (const FaultCase& fault : cases) {
    CAPTURE(fault.error_number);
    const Sampling sampling = one_of_each(3);
    const auto stride = static_cast<unsigned>(sampling.stride);
    bool reached = true;
    for (unsigned at = 1 + static_cast<unsigned>(sampling.start); reached; at += stride) {
      REQUIRE(at < 10'000);
      faulty.start();
      auto registry = faulty.open_sound();
      faulty.plan->set(fault.kind, at, fault.error_number, fault.counts);
      operation(*registry);
      registry.reset();
      reached = faulty.plan->reached();
      CAPTURE(at);
      check();
      most = std::max(most, at);
    }
  }
  counted(faulty.plan->failed() - before, "faults");
  return most;
}

// Ends the process at each call that changes the home, before the call, and at each write also
// after half of its bytes.
inline void kill_everywhere(FaultyHome& faulty, const std::function<void(Home&)>& operation,
                            const std::function<void()>& check) {
  const auto end_at = [&](FaultPlan::Kind kind, unsigned at) {
    faulty.start();
    const int status = in_child([&] {
      faulty.plan->set(kind, at);
      const auto registry = faulty.open();
      if (!registry) return 3;
      operation(**registry);
      return 0;
    });
    CAPTURE(at);
    check();
    return status;
  };
  unsigned deaths = 0;
  unsigned kills = 0;
  while (true) {
    const int status = end_at(FaultPlan::Kind::death, deaths + 1);
    if (status == 0) break;
    if (status == kDiedWriting) REQUIRE(end_at(FaultPlan::Kind::death_unwritten, deaths + 1) == kDied);
    REQUIRE((status == kDied || status == kDiedWriting));
    ++deaths;
    kills += status == kDiedWriting ? 2U : 1U;
  }
  counted(kills, "kills");
  CHECK(deaths > 3);
}

}  // namespace cubinet::test
