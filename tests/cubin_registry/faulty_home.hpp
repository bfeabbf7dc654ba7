// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cubin_registry/fault_injection.hpp"
#include "cubin_registry/home_fixture.hpp"

#include <functional>

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
  // A home that holds `earlier`, made without faults.
  void start_with(const Cubin& earlier) {
    plan->set(FaultPlan::Kind::none, 0);
    std::filesystem::remove_all(home.home);
    const auto registry = open();
    REQUIRE(registry);
    REQUIRE(publishes(**registry, earlier));
  }
  void expect_sound(const Cubin& earlier) {
    plan->set(FaultPlan::Kind::none, 0);
    const auto registry = open();
    REQUIRE_MESSAGE(registry.has_value(), registry.error().to_line());
    CHECK(serves(**registry, earlier));
  }
};

// Runs `operation` with a fault at its first, second, ... call, on a fresh home each time, and `check` after
// it.
inline unsigned for_every_fault(FaultyHome& faulty, FaultPlan::Kind kind, int error_number,
                                const std::function<void()>& prepare, const std::function<void()>& operation,
                                const std::function<void()>& check) {
  for (unsigned at = 1; at < 10'000; ++at) {
    prepare();
    faulty.plan->set(kind, at, error_number);
    operation();
    const bool reached = faulty.plan->reached();
    CAPTURE(at);
    check();
    if (!reached) return at;
  }
  return 0;
}

struct FaultCase {
  FaultPlan::Kind kind;
  int error_number;
};
inline constexpr FaultCase kFaultCases[] = {{FaultPlan::Kind::error_once, ENOSPC},
                                            {FaultPlan::Kind::error_once, EIO},
                                            {FaultPlan::Kind::error_once, EMFILE},
                                            {FaultPlan::Kind::error_from_then_on, ENOSPC},
                                            {FaultPlan::Kind::error_from_then_on, EIO}};

// The process is ended at each call, before and after it is carried out. A write that is cut off leaves half
// its bytes.
inline void kill_everywhere(FaultyHome& faulty, const std::function<void()>& prepare,
                            const std::function<void(Home&)>& operation, const std::function<void()>& check) {
  for (const FaultPlan::Kind kind : {FaultPlan::Kind::death, FaultPlan::Kind::death_after}) {
    unsigned deaths = 0;
    for (unsigned at = 1; at < 10'000; ++at) {
      prepare();
      const int status = in_child([&] {
        faulty.plan->set(kind, at);
        const auto registry = faulty.open();
        if (!registry) return 3;
        operation(**registry);
        return 0;
      });
      CAPTURE(at);
      check();
      if (status == 0) break;
      REQUIRE(status == kDied);
      ++deaths;
    }
    CHECK(deaths > 20);
  }
}

}  // namespace cubinet::test
