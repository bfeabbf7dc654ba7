// SPDX-License-Identifier: Apache-2.0
// Every call that durability depends on is made to fail, one after the other, until an operation goes through
// without meeting a fault: nothing that was there is lost, nothing wrong is served, and the next attempt
// succeeds.
#include "cubin_registry/faulty_home.hpp"
#include "support/skip.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("publishing survives a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin earlier = cubin_of(1);
  const Cubin later = cubin_of(2);
  for (const FaultCase& fault : kFaultCases) {
    Result<void> published;
    const unsigned faults = for_every_fault(
        faulty, fault.kind, fault.error_number, [&] { faulty.start_with(earlier); },
        [&] {
          auto registry = faulty.open();
          published = registry ? (*registry)->publish(later) : Result<void>(registry.error());
        },
        [&] {
          faulty.expect_sound(earlier);
          const auto registry = faulty.open();
          // What was said to be published is there; what was not is absent or whole.
          const bool there = serves(**registry, later);
          CHECK((there || !published));
          CHECK((*registry)->find(later.record->identity.kernel())->size() == (there ? 1 : 0));
          CHECK(publishes(**registry, later));
          CHECK(serves(**registry, later));
          CHECK(serves(**registry, earlier));
        });
    CHECK(faults > 20);
  }
}

TEST_CASE("looking up and loading survive a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin cubin = cubin_of(1);
  for (const FaultCase& fault : kFaultCases) {
    const unsigned faults = for_every_fault(
        faulty, fault.kind, fault.error_number, [&] { faulty.start_with(cubin); },
        [&] {
          auto registry = faulty.open();
          if (!registry) return;
          const auto found = (*registry)->find(cubin.record->identity.kernel());
          if (!found || found->empty()) return;
          const auto loaded = (*registry)->load(found->front());
          if (loaded && *loaded) CHECK(*(*loaded)->image == *cubin.image);
        },
        [&] { faulty.expect_sound(cubin); });
    CHECK(faults > 5);
  }
}

TEST_CASE("removing survives a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin kept = cubin_of(1);
  const Cubin removed = cubin_of(2);
  for (const FaultCase& fault : kFaultCases) {
    bool said = false;
    for_every_fault(
        faulty, fault.kind, fault.error_number,
        [&] {
          faulty.start_with(kept);
          REQUIRE(publishes(**faulty.open(), removed));
        },
        [&] {
          auto registry = faulty.open();
          const auto outcome =
              registry ? (*registry)->remove({removed.record}) : Result<std::uint64_t>(registry.error());
          said = outcome.has_value();
        },
        [&] {
          faulty.expect_sound(kept);
          const auto registry = faulty.open();
          if (said) CHECK_FALSE(serves(**registry, removed));
          CHECK((*registry)->remove({removed.record}).has_value());
          CHECK_FALSE(serves(**registry, removed));
          CHECK((*registry)->sweep().has_value());
          CHECK((*registry)->verify()->findings.empty());
        });
  }
}

TEST_CASE("setting a damaged image and a damaged index aside survives a fault in any call" *
          doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin whole = cubin_of(1);
  const Cubin damaged = cubin_of(2);
  for (const FaultCase& fault : kFaultCases) {
    for_every_fault(
        faulty, fault.kind, fault.error_number,
        [&] {
          faulty.start_with(damaged);
          fs::resize_file(faulty.home.only_file("cubins"), 100);
          REQUIRE(publishes(**faulty.open(), whole));
          write_file(faulty.home.home / "index.sqlite", Bytes(8192, std::byte{0x55}));
        },
        [&] {
          auto registry = faulty.open();
          if (!registry) return;
          const auto loaded = (*registry)->load(damaged.record);
          CHECK_FALSE((loaded && *loaded));
        },
        [&] {
          faulty.expect_sound(whole);
          CHECK((*faulty.open())->list());  // asks the index
          CHECK_FALSE(serves(**faulty.open(), damaged));
          CHECK((*faulty.open())->verify()->findings.empty());
        });
  }
}

TEST_CASE("rebuilding, sweeping and verifying survive a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin cubin = cubin_of(1);
  for (const FaultCase& fault : kFaultCases) {
    for_every_fault(
        faulty, fault.kind, fault.error_number,
        [&] {
          faulty.start_with(cubin);
          write_file(faulty.home.home / ("cubins/00/" + std::string(64, '0') + ".cubin"), Bytes(10));
        },
        [&] {
          auto registry = faulty.open();
          if (!registry) return;
          static_cast<void>((*registry)->verify());
          static_cast<void>((*registry)->rebuild());
          static_cast<void>((*registry)->sweep());
        },
        [&] {
          faulty.expect_sound(cubin);
          CHECK((*faulty.open())->rebuild()->indexed == 1);
          CHECK((*faulty.open())->sweep().has_value());
          CHECK((*faulty.open())->verify()->findings.empty());
        });
  }
}

TEST_CASE("a bundle is created whole or not at all, whatever call fails") {
  FaultyHome faulty;
  const fs::path path = faulty.home.folder / "bundle";
  REQUIRE(create_bundle(path, {cubin_of(1)}, {"old", 1}, faulty.files));
  const Bytes old = read_file(path);
  for (const FaultCase& fault : kFaultCases) {
    Result<void> created;
    const unsigned faults = for_every_fault(
        faulty, fault.kind, fault.error_number, [&] { write_file(path, old); },
        [&] {
          created = create_bundle(path, {cubin_of(2), cubin_of(3)}, {"new", 2}, faulty.files);
        },
        [&] {
          const auto bundle = Bundle::open(path);
          REQUIRE(bundle);
          CHECK((*bundle)->verify()->findings.empty());
          CHECK(((*bundle)->options().name == "new" || !created));
        });
    CHECK(faults > 5);
  }
}

TEST_CASE("a process killed at any point of a publish loses nothing, and nobody waits for its locks" *
          doctest::test_suite("loop")) {
  if (!can_fork()) return skip("forks");
  FaultyHome faulty;
  const Cubin earlier = cubin_of(1);
  const Cubin later = cubin_of(2);
  kill_everywhere(
      faulty, [&] { faulty.start_with(earlier); },
      [&](Home& registry) {
        const auto lock = registry.lock_for_build(later.record->identity, later.record->fingerprint);
        if (lock) static_cast<void>(registry.publish(later));
      },
      [&] {
        faulty.expect_sound(earlier);
        const auto registry = faulty.open();
        const bool there = serves(**registry, later);
        CHECK((*registry)->find(later.record->identity.kernel())->size() == (there ? 1 : 0));
        CHECK((*registry)->lock_for_build(later.record->identity, later.record->fingerprint).has_value());
        CHECK(publishes(**registry, later));
        CHECK(serves(**registry, later));
        CHECK((*registry)->sweep().has_value());
        CHECK((*registry)->verify()->findings.empty());
        CHECK((*registry)->stats()->entries == 2);
      });
}

TEST_CASE("a process killed while it makes the first home leaves one that works") {
  if (!can_fork()) return skip("forks");
  FaultyHome faulty;
  const Cubin cubin = cubin_of(1);
  kill_everywhere(
      faulty,
      [&] {
        faulty.plan->set(FaultPlan::Kind::none, 0);
        fs::remove_all(faulty.home.home);
      },
      [&](Home& registry) { static_cast<void>(registry.publish(cubin)); },
      [&] {
        faulty.plan->set(FaultPlan::Kind::none, 0);
        const auto registry = faulty.open();
        REQUIRE(registry);
        CHECK(publishes(**registry, cubin));
        CHECK(serves(**registry, cubin));
      });
}

TEST_CASE("a process killed while it removes, rebuilds and sweeps leaves the rest intact") {
  if (!can_fork()) return skip("forks");
  FaultyHome faulty;
  const Cubin kept = cubin_of(1);
  const Cubin removed = cubin_of(2);
  kill_everywhere(
      faulty,
      [&] {
        faulty.start_with(kept);
        REQUIRE(publishes(**faulty.open(), removed));
      },
      [&](Home& registry) {
        static_cast<void>(registry.remove({removed.record}));
        static_cast<void>(registry.rebuild());
        static_cast<void>(registry.sweep());
      },
      [&] {
        faulty.expect_sound(kept);
        const auto registry = faulty.open();
        CHECK((*registry)->remove({removed.record}).has_value());
        CHECK((*registry)->sweep().has_value());
        CHECK((*registry)->verify()->findings.empty());
        CHECK(serves(**registry, kept));
      });
}

}  // namespace
}  // namespace cubinet::test
