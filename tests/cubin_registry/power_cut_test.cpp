// SPDX-License-Identifier: Apache-2.0
// Power that goes between any two changes of a home's files: what was said to be published is there
// afterwards, what was said to be removed is not, nothing wrong is served, and no list is without an entry.
#include "cubin_registry/power_cut.hpp"

#include "cubin_registry/home_fixture.hpp"
#include "support/sampled.hpp"

#include <algorithm>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

// What had been said before the event of this number.
struct Said {
  std::size_t events = 0;
  int number = 0;
  bool there = true;
};

// Publishes, removes and sweeps in a home whose changes are in `files`, and what it was told.
std::vector<Said> work(HomeFixture& home, const std::shared_ptr<RecordedFiles>& files) {
  std::vector<Said> said;
  HomeOptions options = home.options();
  options.files = files;
  auto opened = Home::open(options);
  REQUIRE_MESSAGE(opened.has_value(), opened.error().to_line());
  Home& registry = **opened;
  const auto publish = [&](int number) {
    REQUIRE(publishes(registry, cubin_of(number)));
    said.push_back({files->count(), number, true});
  };
  for (int number = 1; number <= 5; ++number)
    publish(number);
  REQUIRE(registry.remove({cubin_of(2).record}).has_value());
  said.push_back({files->count(), 2, false});
  REQUIRE(registry.pin(cubin_of(3).record->identity.key()).has_value());
  REQUIRE(registry.sweep().has_value());
  publish(6);
  publish(2);
  return said;
}

TEST_CASE("power that goes at any time loses nothing that was published, and brings nothing back" *
          doctest::test_suite("loop")) {
  HomeFixture home;
  const auto files = std::make_shared<RecordedFiles>();
  const std::vector<Said> said = work(home, files);
  const std::vector<DiskEvent> events = files->events();
  REQUIRE(events.size() > 50);
  const Bytes index = read_file(home.home / "index.sqlite");
  std::mt19937_64 random(events.size());
  for (const std::size_t count : sampled(events.size() + 1, 8)) {
    for (int round = 0; round < 8; ++round) {
      CAPTURE(count);
      CAPTURE(round);
      HomeFixture after;
      restore_after_power_cut(events, count, home.folder.path(), after.folder.path(), random);
      // The index is a file of SQLite's, which is not synced: whole, a part of it, or none.
      if (fs::exists(after.home) && round % 4 != 0)
        write_file(after.home / "index.sqlite",
                   ByteView(index).first(round % 4 == 1 ? index.size() : random() % index.size()));
      const auto registry = after.open();
      std::size_t served = 0;
      for (int number = 1; number <= 6; ++number) {
        CAPTURE(number);
        const bool there = serves(*registry, cubin_of(number));
        served += there ? 1U : 0U;
        std::optional<bool> last;
        bool in_progress = false;
        for (const Said& one : said) {
          if (one.number != number) continue;
          if (one.events <= count) {
            last = one.there;
          } else {
            in_progress = true;
          }
        }
        if (last && !in_progress) CHECK(there == *last);
        if (last && *last && number != 2) CHECK(there);
      }
      const auto listed = registry->list();
      REQUIRE_MESSAGE(listed.has_value(), listed.error().to_line());
      CHECK(listed->size() == served);
      REQUIRE(registry->repair().has_value());
      CHECK(publishes(*registry, cubin_of(7)));
      CHECK(registry->verify()->findings.empty());
    }
  }
}

}  // namespace
}  // namespace cubinet::test
