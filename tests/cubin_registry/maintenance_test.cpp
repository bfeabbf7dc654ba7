// SPDX-License-Identifier: Apache-2.0
#include "cubin_registry/forwarding_files.hpp"
#include "cubin_registry/home_fixture.hpp"
#include "cubin_registry/newer_schema.hpp"
#include "local/local_home.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;
using Kind = StoreFinding::Kind;

void make_old(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
}

std::vector<Kind> kinds_of(const VerifyReport& report) {
  std::vector<Kind> kinds;
  for (const StoreFinding& finding : report.findings) {
    CHECK_FALSE(finding.reason.empty());
    CHECK_FALSE(finding.file.starts_with('/'));
    kinds.push_back(finding.kind);
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

TEST_CASE("statistics count entries, distinct images and what was set aside") {
  HomeFixture home;
  auto registry = home.open();
  CHECK(registry->stats()->entries == 0);
  for (const char* build : {"a", "b"})
    REQUIRE(publishes(*registry, cubin_of(1, build)));
  REQUIRE(publishes(*registry, cubin_of(2)));
  const auto stats = registry->stats();
  CHECK(stats->entries == 3);
  CHECK(stats->cubins == 2);
  CHECK(stats->cubin_bytes == 2 * cubin_of(1).image->size());
  CHECK(stats->quarantined == 0);
}

TEST_CASE("each kind of damage is found by its name, and a second look changes nothing") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  const fs::path image = home.only_file("cubins");
  const fs::path record = home.only_file("records");
  REQUIRE(publishes(*registry, cubin_of(2)));
  const Bytes whole = read_file(image);
  const auto verify_twice = [&] {
    const auto first = registry->verify();
    const auto second = registry->verify();
    CHECK(kinds_of(*first) == kinds_of(*second));
    return kinds_of(*first);
  };
  CHECK(verify_twice().empty());
  CHECK(registry->verify()->entries == 2);
  CHECK(registry->verify()->bytes == 2 * whole.size());

  write_file(image, Bytes(7));
  CHECK(verify_twice() == std::vector<Kind>{Kind::damaged_cubin});
  fs::remove(image);
  CHECK(verify_twice() == std::vector<Kind>{Kind::missing_cubin});
  write_file(image, whole);
  write_file(home.home / "cubins/stray", Bytes(1));
  write_file(home.home / "records/2/stray.record", Bytes(1));
  CHECK(verify_twice() == std::vector<Kind>{Kind::stray_file, Kind::stray_file});
  fs::remove(home.home / "cubins/stray");
  fs::remove(home.home / "records/2/stray.record");
  write_file(home.home / "cubins/.young.1.2.3.tmp", Bytes(1));
  CHECK(verify_twice().empty());
  make_old(home.home / "cubins/.young.1.2.3.tmp");
  CHECK(verify_twice() == std::vector<Kind>{Kind::stray_file});
  fs::remove(home.home / "cubins/.young.1.2.3.tmp");

  const Bytes recorded = read_file(record);
  write_file(record, Bytes(100));
  const std::vector<Kind> damaged = {Kind::damaged_record, Kind::stray_file};
  CHECK(verify_twice() == damaged);
  fs::remove(record);
  CHECK(verify_twice() == std::vector<Kind>{Kind::stray_file});
  write_file(record, recorded);
  CHECK(verify_twice().empty());
}

// Does something once, between the look at the records and that at the images.
struct InterruptedFiles : ForwardingFiles {
  fs::path folder;
  std::function<void()> interrupt;

  Result<Listing> list(const fs::path& path) override {
    if (path == folder && interrupt) std::exchange(interrupt, nullptr)();
    return ForwardingFiles::list(path);
  }
};

TEST_CASE("what others do meanwhile is no damage to a registry that only reads, and damage is") {
  HomeFixture home;
  const auto writer = home.open();
  REQUIRE(publishes(*writer, cubin_of(1)));
  const fs::path image = home.only_file("cubins");
  const auto files = std::make_shared<InterruptedFiles>();
  files->folder = home.home / "cubins";
  HomeOptions options = home.options(HomeOptions::Access::read_only);
  options.files = files;
  const auto reader = *Home::open(options);
  files->interrupt = [&] { REQUIRE(publishes(*writer, cubin_of(2))); };
  CHECK(reader->verify()->findings.empty());
  CHECK_FALSE(files->interrupt);
  CHECK(reader->verify()->entries == 2);
  write_file(image, Bytes(7));
  files->interrupt = [&] { REQUIRE(publishes(*writer, cubin_of(3))); };
  CHECK(kinds_of(*reader->verify()) == std::vector<Kind>{Kind::damaged_cubin});
}

TEST_CASE("an index that is locked or of another version is no damage to a registry that only reads") {
  HomeFixture home;
  REQUIRE(publishes(*home.open(), cubin_of(1)));
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open((home.home / "index.sqlite").c_str(), &other) == SQLITE_OK);
  const auto execute = [&](const char* sql) {
    REQUIRE(sqlite3_exec(other, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  };
  const auto reader = home.open(HomeOptions::Access::read_only);
  execute("BEGIN EXCLUSIVE");
  CHECK(reader->verify()->findings.empty());
  CHECK(home.log.count("the index was not checked") == 1);
  CHECK(home.open(HomeOptions::Access::read_only)->verify()->findings.empty());
  execute("ROLLBACK");
  make_newer_schema(other);
  CHECK(home.open(HomeOptions::Access::read_only)->verify()->findings.empty());
  sqlite3_close(other);
}

TEST_CASE("rebuilding makes the index from the records and sets damaged ones aside") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  const fs::path record = home.only_file("records");
  REQUIRE(publishes(*registry, cubin_of(2)));
  write_file(record, Bytes(100));
  const auto report = *registry->repair();
  CHECK(report.entries == 1);
  REQUIRE(report.set_aside.size() == 1);
  CHECK(home.home / report.set_aside[0].file == record);
  CHECK(registry->find(cubin_of(1).record->identity.kernel())->empty());
  CHECK(serves(*registry, cubin_of(2)));
  CHECK(registry->stats()->quarantined == 1);
  CHECK(registry->sweep()->bytes == cubin_of(1).image->size());
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("a record that this build cannot read is named by a rebuild and by verify, and stays") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  const fs::path record = home.only_file("records");
  REQUIRE(publishes(*registry, cubin_of(2)));
  Bytes newer = read_file(record);
  newer[4] = std::byte{0xff};  // the version
  write_file(record, newer);
  const auto report = *registry->repair();
  CHECK(report.entries == 1);
  CHECK(report.set_aside.empty());
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == Kind::unreadable_file);
  CHECK(home.home / report.findings[0].file == record);
  CHECK(fs::exists(record));
  CHECK(kinds_of(*registry->verify()) == std::vector<Kind>{Kind::unreadable_file, Kind::stray_file});
}

TEST_CASE("sweeping removes what is left over and nothing that is used") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  CHECK(registry->sweep()->bytes == 0);
  const fs::path young = home.home / "records/.young.1.2.3.tmp";
  const fs::path old = home.home / "cubins/aa/.old.1.2.3.tmp";
  const fs::path unnamed = HomeLayout(home.home).cubin(cubin_of(5).record->digest);
  const fs::path foreign = home.home / "cubins/README";
  const fs::path idle_lock = home.home / "locks" / (std::string(32, 'b') + ".lock");
  for (const fs::path& file : {young, old, unnamed, foreign, idle_lock})
    write_file(file, Bytes(10));
  make_old(old);
  make_old(idle_lock);
  const auto held = registry->lock_for_build(cubin_of(1).record->identity, cubin_of(1).record->fingerprint);
  for (const auto& entry : fs::directory_iterator(home.home / "locks"))
    make_old(entry.path());
  const auto counted = registry->sweep({.dry_run = true});
  REQUIRE(counted);
  CHECK(counted->files == 2);
  CHECK(counted->bytes == 20);
  CHECK(fs::exists(old));
  CHECK(fs::exists(idle_lock));
  CHECK(registry->sweep()->bytes == 20);
  CHECK(fs::exists(young));
  CHECK_FALSE(fs::exists(old));
  CHECK_FALSE(fs::exists(unnamed));
  CHECK(fs::exists(foreign));
  CHECK_FALSE(fs::exists(idle_lock));
  CHECK(std::distance(fs::directory_iterator(home.home / "locks"), fs::directory_iterator()) == 3);
  CHECK(serves(*registry, cubin_of(1)));
}

TEST_CASE("sweeping removes an entry whose image is gone") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  fs::remove(home.only_file("cubins"));
  CHECK(registry->sweep({.dry_run = true})->entries == 1);
  CHECK(registry->sweep()->entries == 1);
  CHECK(registry->find(cubin_of(1).record->identity.kernel())->empty());
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("of the records of a build the one stays whose image is there, with those whose image is damaged") {
  HomeFixture home;
  auto registry = home.open();
  for (int number = 1; number <= 4; ++number)
    home.leave(shipped(number, static_cast<std::uint64_t>(number)));
  fs::remove(home.image_of(shipped(4, 4)));
  write_file(home.image_of(shipped(3, 3)), Bytes(10));
  CHECK(registry->sweep({.dry_run = true})->entries == 1);
  const auto swept = registry->sweep();
  CHECK(swept->entries == 1);
  CHECK(swept->bytes == shipped(1, 1).image->size());
  CHECK(serves(*registry, shipped(2, 2)));
  CHECK(kinds_of(*registry->verify()) == std::vector<Kind>{Kind::damaged_cubin});
  CHECK(registry->verify()->entries == 2);
}

TEST_CASE("what a rebuild that was ended left beside the index is found and swept once it is old") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  const fs::path young = home.home / ".index.sqlite.2.0.3.tmp";
  const fs::path old = home.home / ".index.sqlite.1.0.3.tmp";
  const fs::path journal = home.home / ".index.sqlite.1.0.3.tmp-journal";
  const fs::path foreign = home.home / ".profile.tmp";
  for (const fs::path& file : {young, old, journal, foreign})
    write_file(file, Bytes(10));
  CHECK(registry->verify()->findings.empty());
  for (const fs::path& file : {old, journal, foreign})
    make_old(file);
  CHECK(kinds_of(*registry->verify()) == std::vector<Kind>{Kind::stray_file, Kind::stray_file});
  CHECK(registry->sweep({.dry_run = true})->files == 2);
  CHECK(fs::exists(old));
  CHECK(registry->sweep()->bytes == 20);
  CHECK_FALSE(fs::exists(old));
  CHECK_FALSE(fs::exists(journal));
  CHECK(fs::exists(young));
  CHECK(fs::exists(foreign));
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("no image is swept while a record cannot be read by this build") {
  HomeFixture home;
  auto registry = home.open();
  REQUIRE(publishes(*registry, cubin_of(1)));
  const fs::path record = home.only_file("records");
  Bytes newer = read_file(record);
  newer[4] = std::byte{0xff};  // the version
  write_file(record, newer);
  CHECK(registry->sweep()->bytes == 0);
  CHECK(fs::exists(home.only_file("cubins")));
  CHECK(fs::exists(record));
}

TEST_CASE("findings have names") {
  CHECK(to_string(Kind::damaged_cubin) == "damaged_cubin");
  CHECK(to_string(Kind::missing_cubin) == "missing_cubin");
  CHECK(to_string(Kind::damaged_record) == "damaged_record");
  CHECK(to_string(Kind::unreadable_file) == "unreadable_file");
  CHECK(to_string(Kind::damaged_import) == "damaged_import");
  CHECK(to_string(Kind::damaged_tuning) == "damaged_tuning");
  CHECK(to_string(Kind::conflicting_build) == "conflicting_build");
  CHECK(to_string(Kind::stray_file) == "stray_file");
  CHECK(to_string(Kind::damaged_index) == "damaged_index");
}

}  // namespace
}  // namespace cubinet::test
