// SPDX-License-Identifier: Apache-2.0
// Makes every call fail that durability depends on, one after the other, until an operation
// completes without a fault. Earlier entries are neither lost nor reported as damaged, no wrong
// bytes are served, and the next attempt succeeds.
#include "cubin_registry/faulty_home.hpp"
#include "support/skip.hpp"

#include <cubinet/cubin_registry/bundle.hpp>

#include <chrono>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("opening a home survives a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin cubin = cubin_of(1);
  faulty.prepare(cubin);
  fs::remove_all(faulty.home.folder / "prepared/locks");
  const unsigned faults = for_every_fault(
      faulty,
      [&](Home&) {
        fs::remove(faulty.home.home / "locks");  // has to be created
        static_cast<void>(faulty.open());
      },
      [&] { faulty.expect_sound(cubin); });
  CHECK(faults > 10);
}

TEST_CASE("publishing survives a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin earlier = cubin_of(1);
  const Cubin later = cubin_of(2);
  faulty.prepare(earlier);
  Result<void> published;
  const unsigned faults = for_every_fault(
      faulty, [&](Home& registry) { published = registry.publish(later); },
      [&] {
        const auto registry = faulty.expect_sound(earlier);
        // A build that was reported as published exists. A build that was not is absent or whole.
        const bool there = serves(*registry, later);
        CHECK((there || !published));
        CHECK(registry->find(later.record->identity.kernel())->size() == (there ? 1 : 0));
        CHECK(publishes(*registry, later));
        CHECK(serves(*registry, later));
        CHECK(serves(*registry, earlier));
      });
  CHECK(faults > 20);
}

TEST_CASE("looking up, loading and listing survive a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin cubin = cubin_of(1);
  faulty.prepare(cubin);
  const unsigned faults = for_every_fault(
      faulty,
      [&](Home& registry) {
        if (const auto listed = registry.list()) CHECK(listed->size() == 1);
        const auto found = registry.find(cubin.record->identity.kernel());
        if (!found) return;
        REQUIRE(found->size() == 1);
        const auto loaded = registry.load(found->front());
        if (loaded && *loaded) CHECK(*(*loaded)->image == *cubin.image);
      },
      [&] { faulty.expect_sound(cubin); });
  CHECK(faults > 10);
}

TEST_CASE("removing survives a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin kept = cubin_of(1);
  const Cubin removed = cubin_of(2);
  faulty.prepare([&](Home& registry) {
    for (const Cubin& cubin : {kept, removed})
      REQUIRE(publishes(registry, cubin));
  });
  bool said = false;
  for_every_fault(
      faulty, [&](Home& registry) { said = registry.remove({removed.record}).has_value(); },
      [&] {
        const auto registry = faulty.expect_sound(kept);
        if (said) CHECK_FALSE(serves(*registry, removed));
        CHECK(registry->remove({removed.record}).has_value());
        CHECK_FALSE(serves(*registry, removed));
        CHECK(registry->sweep().has_value());
        CHECK(registry->verify()->findings.empty());
      });
}

TEST_CASE("setting a damaged image and a damaged index aside survives a fault in any call" *
          doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin whole = cubin_of(1);
  const Cubin damaged = cubin_of(2);
  faulty.prepare([&](Home& registry) {
    for (const Cubin& cubin : {whole, damaged})
      REQUIRE(publishes(registry, cubin));
    fs::resize_file(faulty.home.image_of(damaged), 100);
    write_file(faulty.home.home / "index.sqlite", Bytes(8192, std::byte{0x55}));
  });
  for_every_fault(
      faulty,
      [&](Home& registry) {
        const auto loaded = registry.load(damaged.record);
        CHECK_FALSE((loaded && *loaded));
      },
      [&] {
        const auto registry = faulty.open_sound();
        CHECK(registry->list());  // reads missing entries into the index
        CHECK(serves(*registry, whole));
        CHECK_FALSE(serves(*registry, damaged));
        CHECK(registry->verify()->findings.empty());
        CHECK(faulty.home.set_aside() == 2);
      });
}

TEST_CASE("rebuilding, sweeping and verifying survive a fault in any call" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin cubin = cubin_of(1);
  faulty.prepare([&](Home& registry) {
    REQUIRE(publishes(registry, cubin));
    write_file(faulty.home.home / ("cubins/00/" + std::string(64, '0') + ".cubin"), Bytes(10));
  });
  const auto expect_findings = [&](std::size_t count) {
    CHECK(faulty.expect_sound(cubin)->verify()->findings.size() == count);
  };
  for_every_fault(
      faulty, [](Home& registry) { static_cast<void>(registry.repair()); },
      [&] {
        CHECK(faulty.open_sound()->repair()->entries == 1);
        expect_findings(1);
      });
  for_every_fault(
      faulty, [](Home& registry) { static_cast<void>(registry.sweep()); },
      [&] {
        CHECK(faulty.open_sound()->sweep());
        expect_findings(0);
      });
  const auto verify = [](Home& registry) { static_cast<void>(registry.verify()); };
  // Verification with findings and without locks waits a moment at every fault, so this loop only
  // uses single errors.
  for_every_fault(
      faulty, verify, [&] { expect_findings(1); }, kErrorsOnce);
  faulty.prepare(cubin);
  for_every_fault(faulty, verify, [&] { expect_findings(0); });
}

TEST_CASE("a bundle is created whole or not at all, whatever call fails") {
  FaultyHome faulty;
  const fs::path path = faulty.home.home / "bundle";
  faulty.prepare([&](Home&) { REQUIRE(create_bundle(path, {cubin_of(1)}, {"old", 1}, faulty.files)); });
  Result<void> created;
  const unsigned faults = for_every_fault(
      faulty,
      [&](Home&) {
        created = create_bundle(path, {cubin_of(2), cubin_of(3)}, {"new", 2}, faulty.files);
      },
      [&] {
        const auto bundle = Bundle::open(path);
        REQUIRE(bundle);
        CHECK((*bundle)->verify()->findings.empty());
        CHECK(((*bundle)->root().options.channel == "new" || !created));
      });
  CHECK(faults > 5);
}

TEST_CASE("a process killed at any point of a publish loses nothing, and nobody waits for its locks" *
          doctest::test_suite("loop")) {
  if (!can_fork()) return skip("forks");
  FaultyHome faulty;
  const Cubin earlier = cubin_of(1);
  const Cubin later = cubin_of(2);
  faulty.prepare(earlier);
  kill_everywhere(
      faulty,
      [&](Home& registry) {
        const auto lock = registry.lock_for_build(later.record->identity, later.record->fingerprint);
        if (lock) static_cast<void>(registry.publish(later));
      },
      [&] {
        const auto registry = faulty.expect_sound(earlier);
        const bool there = serves(*registry, later);
        CHECK(registry->find(later.record->identity.kernel())->size() == (there ? 1 : 0));
        CHECK(registry->lock_for_build(later.record->identity, later.record->fingerprint).has_value());
        CHECK(publishes(*registry, later));
        CHECK(serves(*registry, later));
        CHECK(registry->sweep().has_value());
        CHECK(registry->verify()->findings.empty());
        CHECK(registry->stats()->entries == 2);
      });
}

TEST_CASE("a process killed while it makes the first home leaves one that works") {
  if (!can_fork()) return skip("forks");
  FaultyHome faulty;
  const Cubin cubin = cubin_of(1);
  kill_everywhere(
      faulty, [&](Home& registry) { static_cast<void>(registry.publish(cubin)); },
      [&] {
        const auto registry = faulty.open_sound();
        CHECK(publishes(*registry, cubin));
        CHECK(serves(*registry, cubin));
        CHECK(faulty.home.set_aside() == 0);
      });
}

// Makes the files that the killed process was writing old enough for removal.
void make_left_overs_old(const fs::path& home) {
  for (const auto& entry : fs::recursive_directory_iterator(home)) {
    if (entry.path().filename().string().starts_with('.'))
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
}

TEST_CASE("a process killed while it removes, rebuilds and sweeps leaves the rest intact") {
  if (!can_fork()) return skip("forks");
  FaultyHome faulty;
  const Cubin kept = cubin_of(2);
  const Cubin older = shipped(3, 1);
  const Cubin removed = shipped(4, 2);
  faulty.prepare([&](Home& registry) {
    REQUIRE(publishes(registry, kept));
    for (const Cubin& cubin : {older, removed})
      faulty.home.leave(cubin);
    REQUIRE(registry.list());
  });
  kill_everywhere(
      faulty,
      [&](Home& registry) {
        static_cast<void>(registry.remove({removed.record}));
        static_cast<void>(registry.repair());
        static_cast<void>(registry.sweep());
      },
      [&] {
        const auto registry = faulty.expect_sound(kept);
        CHECK_FALSE(serves(*registry, older));
        CHECK(registry->list()->size() == (serves(*registry, removed) ? 2 : 1));
        CHECK(registry->remove({removed.record}).has_value());
        CHECK_FALSE(serves(*registry, older));
        make_left_overs_old(faulty.home.home);
        CHECK(registry->sweep().has_value());
        CHECK(registry->verify()->findings.empty());
        for (const auto& entry : fs::recursive_directory_iterator(faulty.home.home))
          CHECK_FALSE(entry.path().filename().string().starts_with('.'));
        CHECK(serves(*registry, kept));
      });
}

}  // namespace
}  // namespace cubinet::test
