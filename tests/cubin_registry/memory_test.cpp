// SPDX-License-Identifier: Apache-2.0
// Memory is exhausted at every place in turn, SQLite's and ours: nothing is called damaged, and the
// same home answers right afterwards.
#include "cubin_registry/artifact_fixture.hpp"
#include "cubin_registry/faulty_home.hpp"
#include "support/allocation_count.hpp"
#include "support/counted.hpp"
#include "support/sampled.hpp"

#include <sqlite3.h>

#include <chrono>
#include <functional>
#include <new>

namespace cubinet::test {
namespace {

// SQLite's memory, of which the n-th allocation fails, once or with all that follow. One at a time,
// while no database is open.
class FaultyMemory {
 public:
  FaultyMemory() {
    configure(nullptr);
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    sqlite3_mem_methods faulty = real;
    faulty.xMalloc = [](int size) { return fails() ? nullptr : real.xMalloc(size); };
    faulty.xRealloc = [](void* memory, int size) { return fails() ? nullptr : real.xRealloc(memory, size); };
    configure(&faulty);
  }
  ~FaultyMemory() {
    stop();
    configure(&real);
  }
  FaultyMemory(const FaultyMemory&) = delete;
  FaultyMemory& operator=(const FaultyMemory&) = delete;

  void fail(unsigned number, bool from_then_on) {
    allocations = 0;
    failing = number;
    for_good = from_then_on;
  }
  void stop() { failing = 0; }
  bool reached() const { return allocations >= failing; }

 private:
  static bool fails() {
    ++allocations;
    return failing != 0 && (allocations == failing || (for_good && allocations > failing));
  }
  static void configure(const sqlite3_mem_methods* methods) {
    REQUIRE(sqlite3_shutdown() == SQLITE_OK);
    if (methods != nullptr) REQUIRE(sqlite3_config(SQLITE_CONFIG_MALLOC, methods) == SQLITE_OK);
  }

  static inline sqlite3_mem_methods real{};
  static inline unsigned allocations = 0;
  static inline unsigned failing = 0;
  static inline bool for_good = false;
};

TEST_CASE("memory that SQLite lacks is no damage of the index, and no list is without an entry" *
          doctest::test_suite("loop")) {
  FaultyMemory memory;
  HomeFixture home;
  REQUIRE(publishes(*home.open(), cubin_of(1)));
  const auto lists_all = [&](Home& registry) { CHECK(registry.list()->size() == 1); };
  const Cubin other = cubin_of(9);
  const VerifiedFile file{"a.cubin", 10, 20, 30, 40, sha256(as_bytes("a")), {}};
  const auto for_every_allocation = [&](bool opened, bool for_good, unsigned step, const auto& operation) {
    bool reached = true;
    std::size_t faults = 0;
    for (unsigned number = 1; reached; number += step) {
      CAPTURE(number);
      const auto registry = home.open();
      if (opened) REQUIRE(registry->imports().verified("/published"));  // asks the index
      memory.fail(number, for_good);
      operation(*registry);
      reached = memory.reached();
      memory.stop();
      faults += reached ? 1U : 0U;
      CHECK(home.set_aside() == 0);
    }
    counted(faults, "faults");
    lists_all(*home.open());
    CHECK(home.open()->verify()->findings.empty());
  };
  for_every_allocation(false, false, 1, lists_all);
  for (const bool for_good : {false, true}) {
    for_every_allocation(true, for_good, for_good ? 7 : 1, [&](Home& registry) {
      CHECK(publishes(registry, other));
      CHECK(*registry.remove({other.record}) == 1);
      lists_all(registry);
    });
  }
  for_every_allocation(true, false, 1, [](Home& registry) { CHECK(registry.verify()->findings.empty()); });
  for_every_allocation(true, false, 1, [&](Home& registry) {
    static_cast<void>(registry.imports().remember("/published", std::span(&file, 1)));
    CHECK(registry.imports().verified("/published"));
  });
  // Nearly all of it is opening two databases, as above.
  for_every_allocation(true, false, 29, [](Home& registry) { static_cast<void>(registry.repair()); });
  CHECK(home.log.count("making the index anew") == 0);
  CHECK(home.log.count("out of memory") > 0);
}

// As if nothing had happened for a while: what is read once is not read again.
void settle(const std::filesystem::path& home) {
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(home)) {
    if (entry.is_directory()) std::filesystem::last_write_time(entry.path(), long_ago);
  }
}

// Asks a home that was just opened for `operation`, with its first, second, ... allocation failing
// (one of three), and then the same home for `check`.
void for_every_allocation(FaultyHome& faulty, const std::function<void(Home&)>& operation,
                          const std::function<void(Home&)>& check) {
  const Sampling sampling = one_of_each(3);
  bool reached = true;
  unsigned failed = 0;
  for (auto number = static_cast<unsigned>(sampling.start) + 1; reached;
       number += static_cast<unsigned>(sampling.stride)) {
    CAPTURE(number);
    faulty.start();
    settle(faulty.home.home);
    const auto registry = faulty.open_sound();
    const unsigned before = allocations();
    fail_allocation(number);
    try {
      operation(*registry);
      fail_allocation(0);
    } catch (const std::bad_alloc&) {
      fail_allocation(0);
      ++failed;
    }
    reached = allocations() - before >= number;
    check(*registry);
    CHECK(faulty.home.set_aside() == 0);
  }
  CHECK(failed * sampling.stride > 20);
  counted(failed, "faults");
}

TEST_CASE("memory that is exhausted anywhere in a question leaves no half of an answer behind" *
          doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin cubin = cubin_of(1);
  const ArtifactFolder folder(faulty.home.folder / "published", 0, 2);
  faulty.prepare([&](Home& registry) {
    REQUIRE(publishes(registry, cubin));
    REQUIRE(folder.publish(registry));
  });
  const KernelId kernel = cubin.record->identity.kernel();
  const std::function<void(Home&)> questions[] = {
      [&](Home& registry) {
        const auto found = registry.find(kernel);
        if (found) static_cast<void>(registry.load(found->front()));
      },
      [](Home& registry) { static_cast<void>(registry.rows()); },
      [](Home& registry) { static_cast<void>(registry.find_function("kernel_1")); }};
  for (const auto& question : questions) {
    for_every_allocation(faulty, question, [&](Home& registry) {
      CHECK(serves(registry, cubin));
      CHECK(registry.rows()->get()->size() == 1);
      CHECK(registry.list()->size() == 3);
    });
  }
}

TEST_CASE(
    "memory that is exhausted anywhere in a change leaves it undone or done, and the next goes through" *
    doctest::test_suite("loop")) {
  FaultyHome faulty;
  const Cubin kept = cubin_of(1);
  const Cubin changed = cubin_of(2);
  const auto check = [&](Home& registry) {
    CHECK(serves(registry, kept));
    CHECK(publishes(registry, changed));
    CHECK(serves(registry, changed));
    CHECK(registry.list()->size() == 2);
  };
  faulty.prepare(kept);
  for_every_allocation(
      faulty, [&](Home& registry) { static_cast<void>(registry.publish(changed)); }, check);
  faulty.prepare([&](Home& registry) {
    for (const Cubin& cubin : {kept, changed})
      REQUIRE(publishes(registry, cubin));
  });
  for_every_allocation(
      faulty, [&](Home& registry) { static_cast<void>(registry.remove({changed.record})); }, check);
  for_every_allocation(
      faulty, [](Home& registry) { static_cast<void>(registry.repair()); }, check);
}

}  // namespace
}  // namespace cubinet::test
