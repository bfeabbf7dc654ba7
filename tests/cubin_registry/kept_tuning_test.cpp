// SPDX-License-Identifier: Apache-2.0
#include "local/kept_tuning.hpp"

#include "bundle/bundle_pack.hpp"
#include "cubin_registry/bundle_fixture.hpp"
#include "cubin_registry/faulty_home.hpp"
#include "support/measured_row.hpp"
#include "support/skip.hpp"

#include <filesystem>
#include <functional>
#include <sys/stat.h>
#include <thread>
#include <vector>

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
    CHECK(fixture.log.count("measurements skipped") > 0);
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

TEST_CASE("whatever lies in the place of a table is set aside by a repair, which whoever merges names") {
  namespace fs = std::filesystem;
  HomeFixture fixture;
  ok(fixture.open()->add_tuning(table_of(measured_row(64))));
  const fs::path file = fixture.home / "tuning";
  const fs::path other = fixture.home / "other";
  const Bytes bytes = read_file(file);
  write_file(other, bytes);
  const std::vector<std::function<void()>> plants = {
      [&] { fs::create_symlink(other, file); },
      [&] { fs::create_directory(file); },
      [&] { REQUIRE(mkfifo(file.c_str(), 0600) == 0); },
      [&] { fs::create_hard_link(other, file); },
      [&] {
        write_file(file, bytes);
        fs::permissions(file, fs::perms(0664));
      },
      [&] {
        write_file(file, bytes);
        fs::resize_file(file, kMaximumTuningBytes + 1);
      },
  };
  std::uint64_t aside = 0;
  for (std::size_t i = 0; i < plants.size(); ++i) {
    CAPTURE(i);
    fs::remove_all(file);
    plants[i]();
    const auto home = fixture.open();
    CHECK(ok(home->tuning()).empty());
    const auto kept = home->checked_tuning();
    REQUIRE_FALSE(kept);
    CHECK(kept.error().remedy == "`Home::repair()` sets it aside");
    if (const auto merged = home->add_tuning(table_of(measured_row(1))); merged) {
      CHECK(i + 1 == plants.size());  // whose bytes are no table
    } else {
      CHECK(merged.error().remedy == kept.error().remedy);
      CHECK(ok(home->repair()).set_aside.size() == 1);
    }
    CHECK(fixture.set_aside() == ++aside);
    ok(home->add_tuning(table_of(measured_row(1))));
    CHECK(ok(home->tuning()).rows().size() == 1);
    CHECK(read_file(other) == bytes);  // nothing is followed
    CHECK(ok(home->verify()).findings.empty());
  }
}

TEST_CASE("a row that could not be read back is refused, and what is kept stays") {
  HomeFixture fixture;
  const auto home = fixture.open();
  ok(home->add_tuning(table_of(measured_row(64))));
  TuningTable::Row row = measured_row(3);
  row.microseconds = -1;
  const auto added = home->add_tuning(table_of(row));
  REQUIRE_FALSE(added);
  CHECK(added.error().code == ErrorCode::invalid_argument);
  CHECK(added.error().message.find("batch 3") != std::string::npos);
  CHECK(row_table_of(*make_memory_store())->add_tuning(table_of(row)).error().code ==
        ErrorCode::invalid_argument);
  CHECK(ok(home->tuning()) == table_of(measured_row(64)));
  CHECK(fixture.set_aside() == 0);
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
  CHECK(ok(fixture.open()->tuning()).empty());
  CHECK(fixture.open()->checked_tuning().error().code == ErrorCode::unsupported);
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

TEST_CASE("a bundle whose measurements are of a newer version gives up its kernels, and says so") {
  BundleFixture fixture;
  ok(create_bundle(fixture.path, cubins_up_to(3), {"test", 3}, fixture.files, table_of(measured_row(64))));
  Bytes bytes = read_file(fixture.path);
  BundleMap map = ok(decode_root(bytes));
  const auto table = std::span(bytes).subspan(static_cast<std::size_t>(map.tuning_offset),
                                              static_cast<std::size_t>(map.tuning_bytes));
  table[4] = std::byte{9};
  const Sha256Digest checksum = sha256(ByteView(table).first(table.size() - 32));
  std::copy(checksum.bytes.begin(), checksum.bytes.end(), table.end() - 32);
  map.tuning = sha256(ByteView(table));
  const Bytes root = encode_root(map);
  std::copy(root.begin(), root.end(), bytes.begin());
  write_file(fixture.path, bytes);
  LogLines log;
  const auto bundle = ok(Bundle::open(fixture.path, fixture.files, log.sink()));
  CHECK(bundle->checked_tuning().error().code == ErrorCode::unsupported);
  CHECK(ok(bundle->tuning()).empty());
  CHECK(log.count("measurements skipped") > 0);
  HomeFixture home;
  const auto registry = home.open();
  const ImportReport report = ok(import_bundle(*bundle, *registry));
  CHECK(report.measurements == 0);
  CHECK(ok(registry->list()).size() == 3);
  const auto combined = fixture.folder / "combined.bundle";
  ok(combine_bundles(combined, {{bundle, ok(bundle->list())}}, {"test", 4}, fixture.files));
  CHECK(ok(ok(Bundle::open(combined, fixture.files))->list()).size() == 3);
}

TEST_CASE("memory keeps measurements") {
  const auto memory = make_memory_store();
  ok(row_table_of(*memory)->add_tuning(table_of(measured_row(64))));
  CHECK(ok(row_table_of(*memory)->tuning()).rows().size() == 1);
}

}  // namespace
}  // namespace cubinet::test
