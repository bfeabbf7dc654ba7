// SPDX-License-Identifier: Apache-2.0
#include "local/kept_tuning.hpp"

#include "bundle/bundle_pack.hpp"
#include "cubin_registry/bundle_fixture.hpp"
#include "cubin_registry/faulty_home.hpp"
#include "support/measured_row.hpp"
#include "support/skip.hpp"

#include <thread>

namespace cubinet::test {
namespace {

TEST_CASE("a home keeps what was measured, and merges what comes later") {
  HomeFixture fixture;
  ok(fixture.open()->add_tuning(table_of(measured_row(64))));
  ok(fixture.open()->add_tuning(table_of(measured_row(1))));
  const auto home = fixture.open();
  CHECK(ok(home->tuning()).rows().size() == 2);
  CHECK(ok(home->verify()).findings.empty());
  const auto read_only = fixture.open(HomeOptions::Access::read_only);
  CHECK(ok(read_only->tuning()).rows().size() == 2);
  CHECK(read_only->add_tuning(table_of(measured_row(2))).error().code == ErrorCode::unavailable);
}

TEST_CASE("a damaged table is passed over, found, and set aside by who merges or repairs") {
  HomeFixture fixture;
  ok(fixture.open()->add_tuning(table_of(measured_row(64))));
  Bytes bytes = read_file(fixture.home / "tuning");
  bytes[20] ^= std::byte{1};
  for (const bool repairs : {false, true}) {
    write_file(fixture.home / "tuning", bytes);
    const auto home = fixture.open();
    CHECK(ok(home->tuning()).empty());
    CHECK(fixture.log.count("measurements passed over") > 0);
    const VerifyReport found = ok(home->verify());
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings[0].kind == StoreFinding::Kind::damaged_tuning);
    if (repairs) {
      CHECK(ok(home->repair()).set_aside.size() == 1);
      CHECK(ok(home->tuning()).empty());
    } else {
      ok(home->add_tuning(table_of(measured_row(1))));
      CHECK(ok(home->tuning()).rows().size() == 1);
    }
    CHECK(ok(home->verify()).findings.empty());
  }
  CHECK(fixture.set_aside() == 2);
}

TEST_CASE("a table of a newer version is left where it is") {
  HomeFixture fixture;
  ok(fixture.open()->add_tuning(table_of(measured_row(64))));
  Bytes bytes = read_file(fixture.home / "tuning");
  bytes[4] = std::byte{9};
  const Sha256Digest digest = sha256(ByteView(bytes).first(bytes.size() - 32));
  std::copy(digest.bytes.begin(), digest.bytes.end(), bytes.end() - 32);
  write_file(fixture.home / "tuning", bytes);
  CHECK(fixture.open()->add_tuning(table_of(measured_row(1))).error().code == ErrorCode::unsupported);
  CHECK(read_file(fixture.home / "tuning") == bytes);
}

TEST_CASE("measurements survive a fault in any call, all or none of what is merged" *
          doctest::test_suite("loop")) {
  FaultyHome faulty;
  faulty.prepare([](Home& home) {
    REQUIRE(publishes(home, cubin_of(1)));
    ok(home.add_tuning(table_of(measured_row(64))));
  });
  Result<void> added;
  const unsigned faults = for_every_fault(
      faulty, [&](Home& home) { added = home.add_tuning(table_of(measured_row(1))); },
      [&] {
        const auto home = faulty.expect_sound(cubin_of(1));
        const TuningTable kept = ok(home->tuning());
        CHECK(kept.find(measured_row(64).problem, 64, 8192, measured_row(64).device).size() == 1);
        if (added) CHECK(kept.rows().size() == 2);
        ok(home->add_tuning(table_of(measured_row(2))));
      });
  CHECK(faults > 3);
}

TEST_CASE("a process killed while it merges leaves a whole table") {
  if (!can_fork()) return skip("forks");
  FaultyHome faulty;
  faulty.prepare([](Home& home) { ok(home.add_tuning(table_of(measured_row(64)))); });
  kill_everywhere(
      faulty,
      [](Home& home) {
        for (const std::uint32_t batch : {1U, 2U})
          static_cast<void>(home.add_tuning(table_of(measured_row(batch))));
      },
      [&] {
        const auto home = faulty.open_sound();
        CHECK(ok(home->tuning()).rows().size() >= 1);
        CHECK(ok(home->verify()).findings.empty());
      });
}

TEST_CASE("writers at one time lose nothing of each other") {
  HomeFixture fixture;
  constexpr std::uint32_t kWriters = 4;
  constexpr std::uint32_t kRows = 8;
  fixture.open();
  std::vector<std::thread> writers;
  for (std::uint32_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      const auto home = Home::open(fixture.options());
      for (std::uint32_t i = 0; home && i < kRows; ++i)
        static_cast<void>((*home)->add_tuning(table_of(measured_row(1 + writer * kRows + i))));
    });
  }
  for (std::thread& writer : writers)
    writer.join();
  CHECK(ok(fixture.open()->tuning()).rows().size() == kWriters * kRows);
}

TEST_CASE("measurements travel in a bundle, through import, merge and a flipped byte") {
  BundleFixture fixture;
  const TuningTable table = table_of(measured_row(64));
  for (const BundleProfile profile : {BundleProfile::plain, BundleProfile::ship}) {
    ok(create_bundle(fixture.path, cubins_up_to(3), {"test", 3, 0, 0, profile}, fixture.files, table));
    const auto bundle = fixture.open();
    CHECK(ok(bundle->tuning()) == table);
    CHECK(ok(bundle->verify()).findings.empty());
    CHECK(ok(bundle->list()).size() == 3);
    HomeFixture home;
    const auto registry = home.open();
    CHECK(ok(import_bundle(*bundle, *registry)).measurements == 1);
    CHECK(ok(registry->tuning()) == table);

    const auto other = fixture.folder / "other.bundle";
    ok(create_bundle(other, {cubin_of(9)}, {"test", 3}, fixture.files, table_of(measured_row(1))));
    const auto second = ok(Bundle::open(other, fixture.files));
    const auto both = fixture.folder / "both.bundle";
    ok(combine_bundles(both, {{bundle, ok(bundle->list())}, {second, ok(second->list())}},
                       {"test", 4, 0, 0, profile}, fixture.files));
    CHECK(ok(ok(Bundle::open(both, fixture.files))->tuning()).rows().size() == 2);

    Bytes bytes = read_file(fixture.path);
    bytes[static_cast<std::size_t>(bundle->pack().map().tuning_offset) + 30] ^= std::byte{1};
    write_file(fixture.path, bytes);
    const auto damaged = fixture.open();
    CHECK(damaged->tuning().error().code == ErrorCode::corruption);
    CHECK(ok(damaged->verify()).findings.size() == 1);
    CHECK(ok(damaged->list()).size() == 3);
  }
}

TEST_CASE("memory keeps measurements, and a store of a program need not") {
  const auto memory = make_memory_store();
  ok(memory->add_tuning(table_of(measured_row(64))));
  CHECK(ok(memory->tuning()).rows().size() == 1);
  CHECK(memory->WritableStore::add_tuning({}).error().code == ErrorCode::unsupported);
}

}  // namespace
}  // namespace cubinet::test
