// SPDX-License-Identifier: Apache-2.0
// Imports under faults: every call that durability depends on fails, or ends the process, one after
// the other. The old import or the new one is there afterwards, whole, and the next attempt
// succeeds.
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/faulty_home.hpp"
#include "support/ok.hpp"
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
        after(faulty.home.folder / "published", 10, 3, placement) {
    faulty.prepare([&](Home& registry) {
      REQUIRE(kept.publish(registry));
      REQUIRE(before.publish(registry));
    });
  }

  // 2, 3, or 0 where neither is served.
  std::uint64_t in_force(Home& registry) const {
    if (serves(registry, after.content, 3)) return 3;
    return serves(registry, before.content, 2) ? 2 : 0;
  }

  void expect_sound(bool published) {
    const auto registry = faulty.open_sound();
    CHECK(serves(*registry, kept.content, 1));
    const std::uint64_t there = in_force(*registry);
    CHECK(there != 0);
    CHECK((there == 3 || !published));
    // One row of `kept`, and those of one of the two.
    CHECK(rows_of(*registry).size() == (there == 3 ? 3U : 2U));
    CHECK(registry->imports().list()->size() == 2);
    const auto again = after.publish(*registry);
    REQUIRE_MESSAGE(again.has_value(), why_not(again));
    CHECK(*again == 3);
    CHECK(registry->sweep().has_value());
    CHECK(registry->verify()->findings.empty());
    CHECK(serves(*registry, after.content, 3));
    CHECK(faulty.home.set_aside() == 0);
  }
};

TEST_CASE("importing a folder again survives a fault in any call, with the old import or the new one" *
          doctest::test_suite("loop")) {
  for (const ArtifactPlacement placement : kPlacements) {
    ImportFaults imports(placement);
    bool published = false;
    const unsigned faults = for_every_fault(
        imports.faulty, [&](Home& registry) { published = imports.after.publish(registry).has_value(); },
        [&] { imports.expect_sound(published); });
    CHECK(faults > 10);
  }
}

TEST_CASE("a process killed at any point of an import leaves the old import or the new one" *
          doctest::test_suite("loop")) {
  if (!can_fork()) return skip("forks");
  for (const ArtifactPlacement placement : kPlacements) {
    ImportFaults imports(placement);
    kill_everywhere(
        imports.faulty, [&](Home& registry) { static_cast<void>(imports.after.publish(registry)); },
        [&] { imports.expect_sound(false); });
  }
}

TEST_CASE("removing an import survives a fault in any call, and is finished by the next attempt" *
          doctest::test_suite("loop")) {
  ImportFaults imports(ArtifactPlacement::copied);
  bool removed = false;
  for_every_fault(
      imports.faulty, [&](Home& registry) { removed = registry.imports().remove(2).value_or(false); },
      [&] {
        const auto registry = imports.faulty.open_sound();
        CHECK(serves(*registry, imports.kept.content, 1));
        if (removed) CHECK(registry->imports().list()->size() == 1);
        CHECK(registry->imports().remove(2).has_value());
        CHECK(rows_of(*registry).size() == 1);
        CHECK(registry->sweep().has_value());
        CHECK(registry->verify()->findings.empty());
        CHECK(imports.faulty.home.set_aside() == 0);
      });
}

TEST_CASE("an import whose removal fails on its way brings none back that it hid") {
  ImportFaults imports(ArtifactPlacement::copied);
  const fs::path folder = imports.faulty.home.home / "imports";
  imports.faulty.prepare([&](Home& registry) {
    REQUIRE(*imports.before.publish(registry) == 1);
    fs::copy_file(folder / "1.import", imports.faulty.home.folder / "1.import");
    REQUIRE(*imports.after.publish(registry) == 2);
    fs::rename(imports.faulty.home.folder / "1.import", folder / "1.import");
  });
  unsigned removals = 0;
  for_every_fault(
      imports.faulty, [&](Home& registry) { removals += registry.imports().remove(2) ? 1U : 0U; },
      [&] {
        const auto registry = imports.faulty.open_sound();
        const auto listed = *registry->imports().list();
        CHECK((listed.empty() || (listed.size() == 1 && listed.front().number == 2)));
      });
  CHECK(removals > 0);
}

TEST_CASE("reading imports survives a fault in any call and never gives a wrong answer" *
          doctest::test_suite("loop")) {
  ImportFaults imports(ArtifactPlacement::linked);
  const auto read = [&](Home& registry) {
    if (const auto rows = registry.rows()) {
      for (const StoredRow& stored : **rows) {
        const KernelRow& row = *stored.row;
        const bool known = row == expected_rows(imports.kept.content, 1)[0] ||
                           row == expected_rows(imports.before.content, 2)[0];
        CHECK(known);
      }
    }
    const auto found = registry.find_function("kernel_10");
    if (found && !found->empty()) {
      const auto loaded = registry.load(found->front());
      if (loaded && *loaded) CHECK(*(*loaded)->image == artifact_image(10));
    }
    static_cast<void>(registry.imports().list());
  };
  const std::function<void(Home&)> operations[] = {
      read, [](Home& registry) { static_cast<void>(registry.verify()); },
      [](Home& registry) { static_cast<void>(registry.repair()); }};
  for (const auto& operation : operations) {
    const unsigned faults = for_every_fault(imports.faulty, operation, [&] {
      const auto registry = imports.faulty.open_sound();
      CHECK(serves(*registry, imports.kept.content, 1));
      CHECK(serves(*registry, imports.before.content, 2));
      CHECK(registry->verify()->findings.empty());
      CHECK(imports.faulty.home.set_aside() == 0);
    });
    CHECK(faults > 10);
  }
}

}  // namespace
}  // namespace cubinet::test
