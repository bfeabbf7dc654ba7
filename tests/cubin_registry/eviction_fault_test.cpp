// SPDX-License-Identifier: Apache-2.0
// Makes room while calls fail, processes are killed, and others publish and use builds. Recent and
// pinned entries are never lost, no list lacks an existing entry, and no entry is partly removed.
#include "cubin_registry/aged_home.hpp"
#include "cubin_registry/faulty_home.hpp"
#include "support/ok.hpp"
#include "support/skip.hpp"

#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

constexpr SweepOptions kEverything{false, SizeLimit{0, 0}, false};

// A home with a recent build, two old images, one of them under two records, and a pinned build.
struct CrowdedHome : FaultyHome {
  Cubin recent = cubin_of(1);
  std::vector<Cubin> old = {cubin_of(2), cubin_of(3), cubin_of(3, "another build")};
  Cubin pinned = cubin_of(4);

  CrowdedHome() {
    prepare([&](Home& registry) {
      for (const Cubin& cubin : all())
        REQUIRE(publishes(registry, cubin));
      REQUIRE(registry.pin(pinned.record->identity.key()));
    });
  }
  std::vector<Cubin> all() const { return {recent, old[0], old[1], old[2], pinned}; }
  // Makes the entries old. A copy has the time at which it was made.
  void age() const {
    for (const Cubin& cubin : {old[0], old[1], old[2], pinned})
      make_published(home.home, cubin, 3);
  }
  void expect_whole() {
    expect_nothing_lost();
    // The test removes the usage marks, so that entries count as used long ago.
    fs::remove(home.home / "uses");
    age();
    const auto registry = open_sound();
    CHECK(registry->sweep(kEverything));
    CHECK(registry->list()->size() == 2);
    CHECK(registry->verify()->findings.empty());
  }

 private:
  void expect_nothing_lost() {
    const auto registry = expect_sound(recent);
    CHECK(serves(*registry, pinned));
    std::size_t there = 2;
    for (const Cubin& cubin : old)
      there += serves(*registry, cubin) ? 1U : 0U;
    // Every record that exists has its image.
    CHECK(registry->list()->size() == there);
  }
};

TEST_CASE("making room survives a fault in any call" * doctest::test_suite("loop")) {
  CrowdedHome faulty;
  std::optional<std::size_t> said;
  const unsigned faults = for_every_fault(
      faulty,
      [&](Home& registry) {
        faulty.age();
        const auto swept = registry.sweep(kEverything);
        said = swept ? std::optional(swept->evicted.size()) : std::nullopt;
        CHECK((!said || *said == 3 || *said == 0));
      },
      [&] {
        if (said && *said == 3) CHECK(faulty.open_sound()->list()->size() == 2);
        faulty.expect_whole();
      });
  CHECK(faults > 20);
}

TEST_CASE("a publish that makes room survives a fault in any call" * doctest::test_suite("loop")) {
  CrowdedHome faulty;
  const Cubin later = cubin_of(9);
  Result<void> published;
  for_every_fault(
      faulty,
      [&](Home& registry) {
        faulty.age();
        write_file(faulty.home.home / "limit", as_bytes("high 100 low 50\n"));
        published = registry.publish(later);
      },
      [&] {
        CHECK((!published || serves(*faulty.open_sound(), later)));
        REQUIRE(faulty.open_sound()->set_limit(std::nullopt));
        REQUIRE(faulty.open_sound()->remove({later.record}));
        faulty.expect_whole();
      },
      kErrorsOnce);
}

TEST_CASE("pins, the limit and the log of uses survive a fault in any call" * doctest::test_suite("loop")) {
  CrowdedHome faulty;
  for_every_fault(
      faulty,
      [&](Home& registry) {
        static_cast<void>(registry.pin(faulty.recent.record->identity.key()));
        static_cast<void>(registry.unpin(faulty.recent.record->identity.key()));
        static_cast<void>(registry.set_limit(SizeLimit{1 << 30, 1 << 20}));
        // A hit does not fail if its usage mark cannot be written.
        CHECK((registry.load(faulty.recent.record).has_value() || faulty.plan->reached()));
      },
      [&] {
        const auto stats = faulty.open_sound()->stats();
        CHECK((!stats->limit || (stats->limit->high == 1 << 30 && stats->limit->low == 1 << 20)));
        faulty.expect_whole();
      });
}

TEST_CASE("a process killed while it makes room, pins and sets a limit leaves nothing half gone") {
  if (!can_fork()) return skip("forks");
  CrowdedHome faulty;
  kill_everywhere(
      faulty,
      [&](Home& registry) {
        faulty.age();
        static_cast<void>(registry.load(faulty.recent.record));
        static_cast<void>(registry.pin(faulty.recent.record->identity.key()));
        static_cast<void>(registry.set_limit(SizeLimit{1 << 30, 1 << 20}));
        static_cast<void>(registry.sweep(kEverything));
        static_cast<void>(registry.unpin(faulty.recent.record->identity.key()));
        static_cast<void>(registry.set_limit(std::nullopt));
      },
      [&] { faulty.expect_whole(); });
}

// Publishes and uses builds like the servers of a fleet that share a home, until the file `stop`
// exists. Returns the number of wrong answers.
int publish_and_use(const HomeFixture& home, const HomeOptions& options, unsigned seed,
                    const fs::path& stop) {
  std::mt19937 random(seed);
  int wrong = 0;
  auto registry = Home::open(options);
  if (!registry) return 100;
  while (!fs::exists(stop)) {
    const Cubin cubin = cubin_of(static_cast<int>(1 + random() % 24));
    const auto found = (*registry)->find(cubin.record->identity.kernel());
    if (!found) ++wrong;
    bool used = false;
    for (const auto& record : found ? *found : CubinRecords()) {
      const auto loaded = (*registry)->load(record);
      if (!loaded || (*loaded && *(*loaded)->image != *cubin.image)) ++wrong;
      used = used || (loaded && *loaded);
    }
    if (!used && !(*registry)->publish(cubin)) ++wrong;
    // Makes the record old. Another process may have removed it already.
    std::error_code gone;
    fs::last_write_time(HomeLayout(home.home).record(entry_name(*cubin.record)),
                        fs::file_time_type::clock::now() - std::chrono::hours(72), gone);
    if (random() % 8 == 0 && !(*registry)->list()) ++wrong;
  }
  return wrong;
}

TEST_CASE("sixteen processes publish and use while room is made over and over") {
  if (!can_fork()) return skip("forks");
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(99)));
  REQUIRE(registry->pin(cubin_of(99).record->identity.key()));
  make_published(home.home, cubin_of(99), 5);
  const fs::path stop = home.folder / "stop";
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 16; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(publish_and_use(home, home.options(), i, stop));
  }
  std::size_t evicted = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (evicted < 200 && std::chrono::steady_clock::now() < deadline) {
    fs::remove(home.home / "uses");  // as if no entry had been used for hours
    const auto swept = registry->sweep({false, SizeLimit{2'000, 1'000}, false});
    CHECK_MESSAGE(swept.has_value(), why_not(swept));
    if (swept) evicted += swept->evicted.size();
  }
  write_file(stop, "");
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  CHECK(evicted > 16);
  CHECK(serves(*registry, cubin_of(99)));
  CHECK(registry->verify()->findings.empty());
  CHECK(registry->list()->size() == registry->repair()->entries);
}

}  // namespace
}  // namespace cubinet::test
