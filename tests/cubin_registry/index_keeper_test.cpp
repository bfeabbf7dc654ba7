// SPDX-License-Identifier: Apache-2.0
// Damages, replaces, locks and removes the index of an open home. Every entry is served
// nevertheless.
#include "local/index_keeper.hpp"

#include "cubin_registry/home_fixture.hpp"
#include "cubin_registry/newer_schema.hpp"
#include "support/counted.hpp"
#include "support/ok.hpp"
#include "support/sampled.hpp"
#include "support/skip.hpp"

#include <sqlite3.h>

#include <thread>
#include <unistd.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;
using Access = HomeOptions::Access;

struct IndexedHome {
  HomeFixture home;
  fs::path index = home.home / "index.sqlite";
  std::vector<Cubin> cubins;

  explicit IndexedHome(int count = 5) {
    auto registry = home.open();
    for (int i = 0; i < count; ++i) {
      cubins.push_back(cubin_of(i));
      REQUIRE(publishes(*registry, cubins.back()));
    }
  }
  void expect_all(Home& registry) {
    // Only lists query the index.
    CHECK(registry.list()->size() == cubins.size());
    for (const Cubin& cubin : cubins)
      CHECK(serves(registry, cubin));
    CHECK(registry.find(cubin_of(200).record->identity.kernel())->empty());
  }
  void make_newer() {
    sqlite3* connection = nullptr;
    REQUIRE(sqlite3_open(index.c_str(), &connection) == SQLITE_OK);
    make_newer_schema(connection);
    sqlite3_close(connection);
  }
  void execute(const char* sql) {
    sqlite3* connection = nullptr;
    REQUIRE(sqlite3_open(index.c_str(), &connection) == SQLITE_OK);
    CHECK(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(connection);
  }
};

TEST_CASE("an index that is no database is set aside, logged and made anew") {
  IndexedHome indexed;
  write_file(indexed.index, Bytes(3000, std::byte{'x'}));
  {
    auto reader = indexed.home.open(Access::read_only);
    indexed.expect_all(*reader);
    CHECK(fs::file_size(indexed.index) == 3000);
    CHECK(reader->verify()->findings.front().kind == StoreFinding::Kind::damaged_index);
  }
  auto registry = indexed.home.open();
  indexed.expect_all(*registry);
  CHECK(registry->stats()->quarantined == 1);
  CHECK(registry->stats()->entries == indexed.cubins.size());
  CHECK(indexed.home.log.count("making the index anew") == 1);
  CHECK(registry->verify()->findings.empty());
}

TEST_CASE("damage to any page of the index hides nothing, before it is opened and while it is open") {
  IndexedHome indexed(12);
  const Bytes whole = read_file(indexed.index);
  constexpr std::size_t kPage = 4096;
  REQUIRE(whole.size() > 4 * kPage);
  for (std::size_t page = 0; page < whole.size() / kPage; ++page) {
    for (const std::byte filling : {std::byte{0}, std::byte{0xff}, std::byte{0x0d}}) {
      write_file(indexed.index, whole);
      auto open_already = indexed.home.open();
      indexed.expect_all(*open_already);
      Bytes damaged = whole;
      std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(page * kPage), kPage, filling);
      write_file(indexed.index, damaged);
      CAPTURE(page);
      indexed.expect_all(*indexed.home.open(Access::read_only));
      indexed.expect_all(*open_already);
      open_already.reset();
      indexed.expect_all(*indexed.home.open());
      counted(1, "mutants");
    }
  }
}

TEST_CASE("an index cut off at any length hides nothing") {
  IndexedHome indexed;
  const Bytes whole = read_file(indexed.index);
  std::size_t mutants = 0;
  for (const std::size_t size : sampled(whole.size(), 331)) {
    ++mutants;
    write_file(indexed.index, ByteView(whole).first(size));
    CAPTURE(size);
    auto registry = indexed.home.open();
    indexed.expect_all(*registry);
    CHECK(registry->list()->size() == indexed.cubins.size());
    CHECK(registry->repair()->entries == indexed.cubins.size());
    CHECK(registry->verify()->findings.empty());
  }
  counted(mutants, "mutants");
}

TEST_CASE("flipped bytes in the index never show a false entry" * doctest::test_suite("loop")) {
  IndexedHome indexed(2);
  const Bytes whole = read_file(indexed.index);
  std::size_t mutants = 0;
  for (const std::size_t i : sampled(whole.size(), 13)) {
    // Most bytes belong to no cell and are 0.
    if (!at_full_size() && whole[i] == std::byte{0} && i % 16 != 0) continue;
    ++mutants;
    Bytes damaged = whole;
    damaged[i] ^= std::byte{0x41};
    write_file(indexed.index, damaged);
    CAPTURE(i);
    indexed.expect_all(*indexed.home.open());
  }
  counted(mutants, "mutants");
}

TEST_CASE("a newer schema is left alone, and everything works through the record files") {
  IndexedHome indexed;
  indexed.make_newer();
  const Bytes before = read_file(indexed.index);
  auto registry = indexed.home.open();
  indexed.expect_all(*registry);
  indexed.cubins.push_back(cubin_of(99));
  REQUIRE(publishes(*registry, indexed.cubins.back()));
  indexed.expect_all(*registry);
  CHECK(registry->list()->size() == indexed.cubins.size());
  CHECK(registry->stats()->entries == indexed.cubins.size());
  CHECK(*registry->remove({indexed.cubins.back().record}) == 1);
  CHECK(registry->repair().error().code == ErrorCode::unsupported);
  CHECK(read_file(indexed.index) == before);
  CHECK(indexed.home.log.count("schema version 99") == 1);
}

// A Home skips an unusable index for a shorter time than this.
constexpr std::chrono::milliseconds kPassedOver{1'100};

bool uses_index(Home& registry) {
  return registry.stats()->journal_mode == "delete";
}

TEST_CASE(
    "an index that takes the place of a newer one is used, and a newer one in its place is left alone") {
  IndexedHome indexed;
  const Bytes good = read_file(indexed.index);
  indexed.make_newer();
  const Bytes newer = read_file(indexed.index);
  const auto registry = indexed.home.open();
  const auto replace_by = [&](const Bytes& content) {
    write_file(indexed.home.folder / "index", content);
    fs::rename(indexed.home.folder / "index", indexed.index);
  };
  indexed.expect_all(*registry);
  CHECK_FALSE(uses_index(*registry));
  replace_by(good);
  std::this_thread::sleep_for(kPassedOver);
  CHECK(uses_index(*registry));
  indexed.expect_all(*registry);
  replace_by(newer);
  CHECK_FALSE(uses_index(*registry));
  indexed.expect_all(*registry);
  CHECK(read_file(indexed.index) == newer);
  CHECK(registry->stats()->quarantined == 0);
}

TEST_CASE("a rebuild goes by the index that is there, not by why the last one was passed over") {
  IndexedHome indexed;
  const Bytes good = read_file(indexed.index);
  indexed.make_newer();
  const auto registry = indexed.home.open();
  indexed.expect_all(*registry);
  write_file(indexed.index, good);
  CHECK(registry->repair());
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(indexed.index.c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto second = indexed.home.open();
  indexed.expect_all(*second);
  sqlite3_close(other);
  indexed.make_newer();
  CHECK(second->repair().error().code == ErrorCode::unsupported);
}

TEST_CASE("a newer schema is left alone by a registry that had the index open before") {
  IndexedHome indexed;
  const auto registry = indexed.home.open();
  indexed.expect_all(*registry);
  indexed.make_newer();
  const Bytes before = read_file(indexed.index);
  indexed.cubins.push_back(cubin_of(99));
  REQUIRE(publishes(*registry, indexed.cubins.back()));
  indexed.expect_all(*registry);
  CHECK(registry->stats()->quarantined == 0);
  CHECK(read_file(indexed.index) == before);
  CHECK(indexed.home.log.count("use the newer cubinet") == 1);
}

TEST_CASE("one changed bit anywhere in the index never passes for a newer build, and a rebuild mends it" *
          doctest::test_suite("loop")) {
  IndexedHome indexed(3);
  const Bytes whole = read_file(indexed.index);
  std::size_t mutants = 0;
  const auto attempt = [&](std::size_t position, unsigned bit) {
    ++mutants;
    Bytes damaged = whole;
    damaged[position] ^= static_cast<std::byte>(1U << bit);
    write_file(indexed.index, damaged);
    CAPTURE(position);
    CAPTURE(bit);
    const auto report = indexed.home.open()->repair();
    REQUIRE_MESSAGE(report.has_value(), why_not(report));
    CHECK(report->entries == 3);
    const auto later = indexed.home.open();
    CHECK(later->verify()->findings.empty());
    CHECK(later->list()->size() == 3);
  };
  // The header contains the versions of the format, the schema and the application.
  for (std::size_t position = 0; position < 100; ++position)
    attempt(position, static_cast<unsigned>(position % 8));
  for (const std::size_t position : {18U, 60U, 61U, 62U, 63U, 64U, 67U}) {
    for (unsigned bit = 0; bit < 8; ++bit)
      attempt(position, bit);
  }
  for (const std::size_t position : sampled(whole.size(), 193))
    attempt(position, static_cast<unsigned>(position % 8));
  counted(mutants, "mutants");
}

TEST_CASE("an index that others can write is set aside and made anew, and only passed over to read") {
  for (const std::string suffix : {"", "-journal", "-wal"}) {
    CAPTURE(suffix);
    IndexedHome indexed;
    const fs::path file = indexed.index.string() + suffix;
    if (!fs::exists(file)) write_file(file, Bytes());
    fs::permissions(file, fs::perms::group_write | fs::perms::others_write, fs::perm_options::add);
    indexed.expect_all(*indexed.home.open(Access::read_only));
    CHECK(fs::exists(file));
    CHECK(indexed.home.log.count("can be written by others") == 1);
    const auto registry = indexed.home.open();
    indexed.expect_all(*registry);
    CHECK(registry->stats()->quarantined == (file == indexed.index ? 1 : 2));
    CHECK(registry->stats()->entries == indexed.cubins.size());
    CHECK((fs::status(indexed.index).permissions() & fs::perms::others_write) == fs::perms::none);
    CHECK(registry->verify()->findings.empty());
  }
}

TEST_CASE("an index of another user is set aside and made anew") {
  if (::geteuid() != 0) return skip("gives a file to another user");
  IndexedHome indexed;
  REQUIRE(::chown(indexed.index.c_str(), 65534, 65534) == 0);
  const auto registry = indexed.home.open();
  indexed.expect_all(*registry);
  CHECK(indexed.home.log.count("belongs to another user") > 0);
  CHECK(registry->stats()->quarantined == 1);
}

TEST_CASE("an index locked by somebody else is passed over without a long wait") {
  IndexedHome indexed;
  auto registry = indexed.home.open();
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(indexed.index.c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < 20; ++round)
    indexed.expect_all(*registry);
  indexed.expect_all(*indexed.home.open());
  indexed.expect_all(*indexed.home.open(Access::read_only));
  indexed.cubins.push_back(cubin_of(99));
  REQUIRE(publishes(*registry, indexed.cubins.back()));
  indexed.expect_all(*registry);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  // The record files are authoritative.
  CHECK(*registry->remove({indexed.cubins.front().record}) == 1);
  indexed.cubins.erase(indexed.cubins.begin());
  indexed.expect_all(*registry);
  sqlite3_close(other);
  auto later = indexed.home.open();
  indexed.expect_all(*later);
  CHECK(later->verify()->findings.empty());
}

TEST_CASE("an index that is removed, replaced or no plain file under an open registry is made anew") {
  IndexedHome indexed;
  auto registry = indexed.home.open();
  indexed.expect_all(*registry);
  fs::remove(indexed.index);
  indexed.expect_all(*registry);
  registry = indexed.home.open();
  indexed.expect_all(*registry);
  CHECK(registry->stats()->entries == indexed.cubins.size());
  fs::rename(indexed.index, indexed.home.folder / "elsewhere");
  fs::create_symlink(indexed.home.folder / "elsewhere", indexed.index);
  registry = indexed.home.open();
  indexed.expect_all(*registry);
  CHECK_FALSE(fs::is_symlink(indexed.index));
  fs::remove(indexed.index);
  fs::create_directory(indexed.index);
  registry = indexed.home.open();
  indexed.expect_all(*registry);
  CHECK(fs::is_regular_file(indexed.index));
  indexed.cubins.push_back(cubin_of(99));
  REQUIRE(publishes(*registry, indexed.cubins.back()));
  CHECK(registry->stats()->entries == indexed.cubins.size());
}

TEST_CASE("a journal left by a writer that died is rolled back") {
  IndexedHome indexed;
  const Bytes before = read_file(indexed.index);
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(indexed.index.c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "PRAGMA cache_size=1; BEGIN; DELETE FROM entries; PRAGMA cache_spill=1",
                       nullptr, nullptr, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_db_cacheflush(other) == SQLITE_OK);
  const Bytes journal = read_file(indexed.index.string() + "-journal");
  const Bytes torn = read_file(indexed.index);
  REQUIRE_FALSE(journal.empty());
  sqlite3_close(other);
  write_file(indexed.index, torn);
  write_file(indexed.index.string() + "-journal", journal);
  {
    // A reader cannot roll back the journal, which is no damage.
    const auto reader = indexed.home.open(Access::read_only);
    indexed.expect_all(*reader);
    CHECK(reader->verify()->findings.empty());
  }
  auto registry = indexed.home.open();
  indexed.expect_all(*registry);
  CHECK(registry->verify()->findings.empty());
}

}  // namespace
}  // namespace cubinet::test
