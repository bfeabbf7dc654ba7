// SPDX-License-Identifier: Apache-2.0
// Runs random operations in a home whose calls fail at random, also several calls of one operation.
// Builds that were reported as published exist, builds that were reported as removed do not, no
// wrong bytes are served, and no entry is reported as damaged.
#include "cubin_registry/faulty_home.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

namespace cubinet::test {
namespace {

constexpr unsigned kOperations = 60;
constexpr int kCubins = 6;

unsigned seeds() {
  return std::getenv("CUBINET_TEST_EVERY") == nullptr ? 10 : 4000;
}

// The known state of each cubin, or nullopt if an operation on it failed.
using Known = std::map<int, std::optional<bool>>;

// Runs a random operation on a random cubin. The operation may fail.
void operate(Home& registry, std::minstd_rand& random, Known& known) {
  const int number = 1 + static_cast<int>(random() % kCubins);
  const Cubin cubin = cubin_of(number);
  std::optional<bool>& there = known[number];
  CAPTURE(number);
  switch (random() % 9) {
    case 0:
    case 1:
    case 2:
      if (registry.publish(cubin)) {
        there = true;
      } else if (there == false) {
        there.reset();
      }
      break;
    case 3:
      there = registry.remove({cubin.record}) ? std::optional(false) : std::nullopt;
      break;
    case 4: {
      const auto found = registry.find(cubin.record->identity.kernel());
      if (!found) break;
      CHECK((!there || found->size() == (*there ? 1U : 0U)));
      if (found->empty()) break;
      const auto loaded = registry.load(found->front());
      if (!loaded) break;
      CHECK((*loaded || there != true));
      if (*loaded) CHECK(*(*loaded)->image == *cubin.image);
      break;
    }
    case 5:
      if (const auto listed = registry.list()) {
        for (const auto& [each, is_there] : known) {
          const auto record = cubin_of(each).record;
          const bool is_listed = std::any_of(listed->begin(), listed->end(),
                                             [&](const auto& other) { return *other == *record; });
          CHECK((!is_there || is_listed == *is_there));
        }
      }
      break;
    case 6:
      static_cast<void>(registry.pin(cubin.record->identity.key()));
      static_cast<void>(registry.unpin(cubin.record->identity.key()));
      break;
    case 7:
      static_cast<void>(registry.sweep());
      break;
    default:
      static_cast<void>(registry.repair());
  }
}

TEST_CASE("operations by chance survive faults by chance" * doctest::test_suite("loop")) {
  FaultyHome faulty;
  for (unsigned seed = 0; seed < seeds(); ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed + 1);
    faulty.start();
    Known known;
    for (int number = 1; number <= kCubins; ++number)
      known[number] = false;
    auto registry = faulty.open_sound();
    faulty.plan->set_random(seed, 5U + seed % 40U, seed % 2 == 0 ? EIO : ENOSPC);
    for (unsigned i = 0; i < kOperations; ++i) {
      CAPTURE(i);
      operate(*registry, random, known);
      if (random() % 8 == 0) {
        if (auto again = faulty.open()) registry = *std::move(again);
      }
    }
    registry = faulty.open_sound();
    std::size_t served = 0;
    for (const auto& each : known) {
      const int number = each.first;
      const std::optional<bool>& there = each.second;
      CAPTURE(number);
      const bool serves_it = serves(*registry, cubin_of(number));
      served += serves_it ? 1U : 0U;
      if (there) CHECK(serves_it == *there);
    }
    CHECK(registry->list()->size() == served);
    CHECK(registry->sweep());
    CHECK(registry->verify()->findings.empty());
    // The index may be torn by a write that fails and whose rollback fails too. It is then rebuilt,
    // and no entry is reported as damaged.
    for (const auto& entry : std::filesystem::directory_iterator(faulty.home.home / "quarantine"))
      CHECK(entry.path().filename().string().starts_with("index.sqlite"));
  }
  CHECK(faulty.plan->failed() > 100);
  counted(faulty.plan->failed(), "faults");
}

}  // namespace
}  // namespace cubinet::test
