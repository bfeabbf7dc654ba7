// SPDX-License-Identifier: Apache-2.0
// Imports under faults: every call that durability depends on fails, or ends the process, one after the
// other. The old import or the new one is there afterwards, whole, and the next attempt succeeds.
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/faulty_home.hpp"
#include "support/skip.hpp"

#include <cubinet/cubin_registry/imports.hpp>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

constexpr ArtifactPlacement kPlacements[] = {ArtifactPlacement::in_place, ArtifactPlacement::linked,
                                             ArtifactPlacement::copied};

// A home with an import that stays, and one of a folder that is about to be imported again.
struct ImportFaults {
  FaultyHome faulty;
  ArtifactFolder kept{faulty.home.folder / "kept", 0, 2};
  ArtifactFolder before;
  ArtifactFolder after;

  explicit ImportFaults(ArtifactPlacement placement)
      : before(faulty.home.folder / "published", 10, 2, placement),
        after(faulty.home.folder / "published", 10, 3, placement) {}

  void start() {
    faulty.plan->set(FaultPlan::Kind::none, 0);
    fs::remove_all(faulty.home.home);
    const auto registry = faulty.open();
    REQUIRE(registry);
    REQUIRE(kept.publish(**registry));
    REQUIRE(before.publish(**registry));
  }

  // 2, 3, or 0 where neither is served.
  std::uint64_t in_force(Home& registry) const {
    if (serves(registry, after.content, 3)) return 3;
    return serves(registry, before.content, 2) ? 2 : 0;
  }

  void expect_sound(bool published) {
    faulty.plan->set(FaultPlan::Kind::none, 0);
    const auto registry = faulty.open();
    REQUIRE_MESSAGE(registry.has_value(), registry.error().to_line());
    CHECK(serves(**registry, kept.content, 1));
    const std::uint64_t there = in_force(**registry);
    CHECK(there != 0);
    CHECK((there == 3 || !published));
    // One row of `kept`, and those of one of the two.
    CHECK(rows_of(**registry).size() == (there == 3 ? 3U : 2U));
    CHECK((*registry)->imports().list()->size() == 2);
    const auto again = after.publish(**registry);
    REQUIRE_MESSAGE(again.has_value(), again.error().to_line());
    CHECK(*again == 3);
    CHECK(serves(**registry, after.content, 3));
    CHECK((*registry)->sweep().has_value());
    CHECK((*registry)->verify()->findings.empty());
    CHECK(serves(**registry, after.content, 3));
  }
};

TEST_CASE("importing a folder again survives a fault in any call, with the old import or the new one" *
          doctest::test_suite("loop")) {
  for (const ArtifactPlacement placement : kPlacements) {
    ImportFaults imports(placement);
    for (const FaultCase& fault : kFaultCases) {
      bool published = false;
      const unsigned faults = for_every_fault(
          imports.faulty, fault.kind, fault.error_number, [&] { imports.start(); },
          [&] {
            auto registry = imports.faulty.open();
            published = registry && imports.after.publish(**registry);
          },
          [&] { imports.expect_sound(published); });
      CHECK(faults > 20);
    }
  }
}

TEST_CASE("a process killed at any point of an import leaves the old import or the new one" *
          doctest::test_suite("loop")) {
  if (!can_fork()) return skip("forks");
  for (const ArtifactPlacement placement : kPlacements) {
    ImportFaults imports(placement);
    kill_everywhere(
        imports.faulty, [&] { imports.start(); },
        [&](Home& registry) { static_cast<void>(imports.after.publish(registry)); },
        [&] { imports.expect_sound(false); });
  }
}

TEST_CASE("removing an import survives a fault in any call, and is finished by the next attempt" *
          doctest::test_suite("loop")) {
  ImportFaults imports(ArtifactPlacement::copied);
  for (const FaultCase& fault : kFaultCases) {
    bool removed = false;
    for_every_fault(
        imports.faulty, fault.kind, fault.error_number, [&] { imports.start(); },
        [&] {
          auto registry = imports.faulty.open();
          removed = registry && (*registry)->imports().remove(2).value_or(false);
        },
        [&] {
          imports.faulty.plan->set(FaultPlan::Kind::none, 0);
          const auto registry = imports.faulty.open();
          REQUIRE(registry);
          CHECK(serves(**registry, imports.kept.content, 1));
          if (removed) CHECK((*registry)->imports().list()->size() == 1);
          CHECK((*registry)->imports().remove(2).has_value());
          CHECK(rows_of(**registry).size() == 1);
          CHECK((*registry)->sweep().has_value());
          CHECK((*registry)->verify()->findings.empty());
        });
  }
}

TEST_CASE("reading imports survives a fault in any call and never gives a wrong answer" *
          doctest::test_suite("loop")) {
  ImportFaults imports(ArtifactPlacement::linked);
  for (const FaultCase& fault : kFaultCases) {
    const unsigned faults = for_every_fault(
        imports.faulty, fault.kind, fault.error_number, [&] { imports.start(); },
        [&] {
          auto registry = imports.faulty.open();
          if (!registry) return;
          const auto rows = (*registry)->rows();
          if (rows) {
            for (const StoredRow& stored : **rows) {
              const KernelRow& row = *stored.row;
              const bool known = row == expected_rows(imports.kept.content, 1)[0] ||
                                 row == expected_rows(imports.before.content, 2)[0];
              CHECK(known);
            }
          }
          const auto found = (*registry)->find_function("kernel_10");
          if (found && !found->empty()) {
            const auto loaded = (*registry)->load(found->front());
            if (loaded && *loaded) CHECK(*(*loaded)->image == artifact_image(10));
          }
          static_cast<void>((*registry)->imports().list());
          static_cast<void>((*registry)->verify());
          static_cast<void>((*registry)->rebuild());
        },
        [&] { imports.expect_sound(false); });
    CHECK(faults > 20);
  }
}

}  // namespace
}  // namespace cubinet::test
