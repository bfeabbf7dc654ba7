// SPDX-License-Identifier: Apache-2.0
// Cuts power between any two changes of a home's files. Builds that were reported as published
// exist afterwards, builds that were reported as removed do not, no wrong bytes are served, and no
// list lacks an entry.
#include "cubin_registry/power_cut.hpp"

#include "cubin_registry/aged_home.hpp"
#include "cubin_registry/artifact_fixture.hpp"
#include "support/counted.hpp"
#include "support/ok.hpp"
#include "support/sampled.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

// An operation that began at the event `begin` and reported success at `end`.
struct Told {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool there = true;
};

// A home whose changes are recorded, and the reported operations on each of its entries, by name.
struct RecordedHome : HomeFixture {
  std::shared_ptr<RecordedFiles> files = std::make_shared<RecordedFiles>();
  std::shared_ptr<Home> registry;
  std::map<std::string, std::vector<Told>> told;

  RecordedHome() {
    HomeOptions recorded = options();
    recorded.files = files;
    auto opened = Home::open(recorded);
    REQUIRE_MESSAGE(opened.has_value(), why_not(opened));
    registry = *std::move(opened);
  }
  void record(const std::vector<std::string>& names, bool there, const std::function<bool()>& operation) {
    const std::size_t begin = files->count();
    REQUIRE(operation());
    for (const std::string& name : names)
      told[name].push_back({begin, files->count(), there});
  }
  // Returns whether the entry exists after `count` events, or nullopt if that was about to change.
  std::optional<bool> is_there(const std::string& name, std::size_t count) const {
    bool there = false;
    for (const Told& each : told.at(name)) {
      if (each.end <= count) {
        there = each.there;
      } else if (each.begin < count && each.there != there) {
        return std::nullopt;
      }
    }
    return there;
  }
};

// Cuts power at every event, several times, and calls `check` with each resulting home.
void cut_everywhere(const RecordedHome& home, const std::function<void(Home&, std::size_t count)>& check) {
  const std::vector<DiskEvent> events = home.files->events();
  REQUIRE(events.size() > 50);
  const Bytes index = read_file(home.home / "index.sqlite");
  std::mt19937_64 random(events.size());
  std::size_t cuts = 0;
  for (const std::size_t count : sampled(events.size() + 1, 16)) {
    for (int round = 0; round < 8; ++round) {
      CAPTURE(count);
      CAPTURE(round);
      HomeFixture after;
      restore_after_power_cut(events, count, home.folder.path(), after.folder.path(), random);
      // The index is a file of SQLite's and is not synced. It may be whole, partial or missing.
      if (fs::exists(after.home) && round % 4 != 0)
        write_file(after.home / "index.sqlite",
                   ByteView(index).first(round % 4 == 1 ? index.size() : random() % index.size()));
      const auto registry = after.open();
      check(*registry, count);
      REQUIRE(registry->repair().has_value());
      CHECK(publishes(*registry, cubin_of(99)));
      CHECK(registry->sweep().has_value());
      CHECK(registry->verify()->findings.empty());
      ++cuts;
    }
  }
  counted(cuts, "power cuts");
}

std::string name_of(int number) {
  return "cubin " + std::to_string(number);
}

TEST_CASE("power that goes at any time loses nothing that was published, and brings nothing back" *
          doctest::test_suite("loop")) {
  RecordedHome home;
  const auto publish = [&](int number) {
    home.record({name_of(number)}, true, [&] { return publishes(*home.registry, cubin_of(number)); });
  };
  const KernelKey pinned = cubin_of(3).record->identity.key();
  for (int number = 1; number <= 5; ++number)
    publish(number);
  home.record({name_of(2)}, false, [&] { return home.registry->remove({cubin_of(2).record}).has_value(); });
  home.record({"pin"}, true, [&] { return home.registry->pin(pinned).has_value(); });
  home.record({}, true, [&] { return home.registry->sweep().has_value(); });
  publish(6);
  publish(2);
  for (const int number : {3, 4, 5})
    make_published(home.home, cubin_of(number), 3);
  home.record({name_of(4), name_of(5)}, false, [&] {
    const auto swept = home.registry->sweep({false, SizeLimit{0, 0}, false});
    return swept && swept->evicted.size() == 2;
  });
  home.record({"pin"}, false, [&] { return home.registry->unpin(pinned).value_or(false); });
  publish(5);
  cut_everywhere(home, [&](Home& registry, std::size_t count) {
    std::size_t served = 0;
    for (int number = 1; number <= 6; ++number) {
      CAPTURE(number);
      const bool there = serves(registry, cubin_of(number));
      served += there ? 1U : 0U;
      if (const auto expected = home.is_there(name_of(number), count)) CHECK(there == *expected);
    }
    const auto listed = registry.list();
    REQUIRE_MESSAGE(listed.has_value(), why_not(listed));
    CHECK(listed->size() == served);
    const auto pins = registry.stats()->pins;
    if (const auto expected = home.is_there("pin", count)) CHECK((pins.size() == 1) == *expected);
  });
}

TEST_CASE("power that goes at any time in an import leaves the old one or the new one" *
          doctest::test_suite("loop")) {
  for (const ArtifactPlacement placement :
       {ArtifactPlacement::in_place, ArtifactPlacement::linked, ArtifactPlacement::copied}) {
    RecordedHome home;
    const ArtifactFolder kept(home.folder / "kept", 0, 2, placement);
    const ArtifactFolder before(home.folder / "published", 10, 2, placement);
    const ArtifactFolder after(home.folder / "published", 10, 3, placement);
    const auto publish = [&](const ArtifactFolder& folder, const std::string& name) {
      home.record({name}, true, [&] { return folder.publish(*home.registry).has_value(); });
    };
    publish(kept, "kept");
    publish(before, "published");
    // One of the two folders is served from here on.
    publish(after, "published");
    home.record({"kept"}, false, [&] { return home.registry->imports().remove(1).value_or(false); });
    for (int number = 1; number <= 4; ++number)
      home.record({}, true, [&] { return publishes(*home.registry, cubin_of(number)); });
    cut_everywhere(home, [&](Home& registry, std::size_t count) {
      const bool one = serves(registry, kept.content, 1);
      const bool two = serves(registry, before.content, 2);
      const bool three = serves(registry, after.content, 3);
      CHECK_FALSE((two && three));
      if (const auto expected = home.is_there("kept", count)) CHECK(one == *expected);
      if (const auto expected = home.is_there("published", count)) CHECK((two || three) == *expected);
      if (count >= home.told["published"].back().end) CHECK(three);
      CHECK(registry.imports().list()->size() == (one ? 1U : 0U) + (two || three ? 1U : 0U));
    });
  }
}

}  // namespace
}  // namespace cubinet::test
