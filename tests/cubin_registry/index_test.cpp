// SPDX-License-Identifier: Apache-2.0
#include "index.hpp"

#include "cubin_registry/registry_fixture.hpp"

#include <sqlite3.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

StoredRecord stored(int number, std::string_view build = "build", std::int64_t time = 1) {
  return {cubin_of(number, build).record, time};
}

Index::Source source_of(std::vector<StoredRecord> records) {
  return {[records](const Index::AddRecord& add) -> Result<void> {
            for (const StoredRecord& record : records)
              CUBINET_TRY(add(record));
            return {};
          },
          [](const Index::AddImport&) { return Result<void>(); }};
}

struct IndexFixture {
  TempDir folder;
  fs::path file = folder / "index.sqlite";

  Result<std::unique_ptr<Index>> open(std::vector<StoredRecord> records = {},
                                      Index::Mode mode = Index::Mode::read_write) {
    return Index::open(file, mode, source_of(std::move(records)));
  }
  // Any SQL, as another program would run it.
  void execute(const char* sql) {
    sqlite3* connection = nullptr;
    REQUIRE(sqlite3_open(file.c_str(), &connection) == SQLITE_OK);
    CHECK(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(connection);
  }
};

TEST_CASE("a new index is filled from the records there are, an old one is not") {
  IndexFixture fixture;
  REQUIRE(fixture.open({stored(1), stored(2)}));
  auto index = fixture.open({stored(3)});
  REQUIRE(index);
  CHECK((*index)->totals()->entries == 2);
  CHECK((*index)->find(stored(1).record->identity)->size() == 1);
  CHECK((*index)->find(stored(3).record->identity)->empty());
  CHECK((*index)->check().has_value());
  CHECK(*(*index)->names_image(stored(1).record->digest));
  CHECK_FALSE(*(*index)->names_image(stored(3).record->digest));
}

TEST_CASE("rows are added, replaced, found newest first, and erased one by one") {
  IndexFixture fixture;
  auto index = *fixture.open();
  REQUIRE(index->put(stored(1, "a", 10)));
  REQUIRE(index->put(stored(1, "b", 30)));
  REQUIRE(index->put(stored(1, "c", 20)));
  REQUIRE(index->put(stored(1, "c", 20)));
  auto found = index->find(stored(1).record->identity);
  REQUIRE(found->size() == 3);
  CHECK(found->at(0).published_ns == 30);
  CHECK(found->at(2).published_ns == 10);
  REQUIRE(index->put(stored(1, "a", 40)));
  CHECK(index->find(stored(1).record->identity)->front().record->fingerprint == fake_fingerprint("a"));
  CHECK(index->totals()->entries == 3);
  CHECK(index->totals()->cubins == 1);
  CHECK(*index->erase(*stored(1, "b").record));
  CHECK_FALSE(*index->erase(*stored(1, "b").record));
  CHECK(index->find(stored(1).record->identity)->size() == 2);
  CHECK(*index->replace_all(source_of({stored(7), stored(8)})) == 2);
  CHECK(index->find(stored(1).record->identity)->empty());
  CHECK(index->list()->size() == 2);
}

TEST_CASE("what one connection writes another one sees at its next question") {
  IndexFixture fixture;
  auto writer = *fixture.open();
  auto reader = *fixture.open();
  for (int i = 0; i < 50; ++i) {
    CHECK(reader->find(stored(i).record->identity)->empty());
    REQUIRE(writer->put(stored(i)));
    CHECK(reader->find(stored(i).record->identity)->size() == 1);
  }
  REQUIRE(writer->erase(*stored(0).record));
  CHECK(reader->find(stored(0).record->identity)->empty());
}

TEST_CASE("a failing source leaves the old rows") {
  IndexFixture fixture;
  auto index = *fixture.open({stored(1)});
  Index::Source source = source_of({});
  source.records = [](const Index::AddRecord& add) -> Result<void> {
    CUBINET_TRY(add(stored(2)));
    return Error{ErrorCode::io, "no more"};
  };
  const auto failed = index->replace_all(source);
  CHECK_FALSE(failed);
  CHECK(index->find(stored(1).record->identity)->size() == 1);
  CHECK(index->totals()->entries == 1);
}

TEST_CASE("what is no index of ours is told by its error") {
  IndexFixture fixture;
  write_file(fixture.file, Bytes(5000, std::byte{9}));
  CHECK(fixture.open().error().code == ErrorCode::corruption);
  fs::remove(fixture.file);
  fixture.execute("CREATE TABLE t (x)");
  CHECK(fixture.open().error().code == ErrorCode::corruption);
  fs::remove(fixture.file);
  REQUIRE(fixture.open());
  fixture.execute("PRAGMA user_version=3");
  const auto newer = fixture.open();
  CHECK(newer.error().code == ErrorCode::unsupported);
  CHECK(newer.error().message.find("version 3") != std::string::npos);
  fixture.execute("PRAGMA user_version=0");
  CHECK(fixture.open().error().code == ErrorCode::corruption);
  fixture.execute("PRAGMA user_version=1; PRAGMA application_id=5");
  CHECK(fixture.open().error().code == ErrorCode::corruption);
  fs::remove(fixture.file);
  REQUIRE(fixture.open());
  fixture.execute("DROP TABLE entries");
  CHECK(fixture.open().error().code == ErrorCode::corruption);
}

TEST_CASE("an empty file is filled, and for a reader it is no index") {
  IndexFixture fixture;
  write_file(fixture.file, {});
  CHECK(fixture.open({}, Index::Mode::read_only).error().code == ErrorCode::not_found);
  CHECK((*fixture.open({stored(1)}))->totals()->entries == 1);
  CHECK((*fixture.open({}, Index::Mode::read_only))->find(stored(1).record->identity)->size() == 1);
}

TEST_CASE("a false row is damage, never an answer") {
  IndexFixture fixture;
  REQUIRE(fixture.open({stored(1), stored(2)}));
  // One kernel's record under the other's key, and one with a byte changed.
  const std::string other = std::to_string(static_cast<std::int64_t>(stored(2).record->identity.key().value));
  const std::string mine = std::to_string(static_cast<std::int64_t>(stored(1).record->identity.key().value));
  fixture.execute(("UPDATE entries SET record = (SELECT record FROM entries WHERE key = " + other +
                   ") WHERE key = " + mine)
                      .c_str());
  auto index = *fixture.open();
  const auto found = index->find(stored(1).record->identity);
  CHECK((!found || found->empty()));
  fixture.execute(
      "UPDATE entries SET record = CAST(replace(CAST(record AS TEXT), 'tests', 'TESTS') AS BLOB)");
  CHECK(index->find(stored(2).record->identity).error().code == ErrorCode::corruption);
  CHECK(index->list().error().code == ErrorCode::corruption);
}

TEST_CASE("a locked index is busy after a moment, not for ever") {
  IndexFixture fixture;
  auto index = *fixture.open({stored(1)});
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(fixture.file.c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  CHECK(index->find(stored(1).record->identity).error().code == ErrorCode::busy);
  CHECK(fixture.open().error().code == ErrorCode::busy);
  CHECK(index->put(stored(2)).error().code == ErrorCode::busy);
  sqlite3_close(other);
  CHECK(index->find(stored(1).record->identity)->size() == 1);
}

TEST_CASE("a write ahead log that this library would get wrong is switched off") {
  IndexFixture fixture;
  REQUIRE(fixture.open({stored(1)}));
  fixture.execute("PRAGMA journal_mode=WAL");
  auto index = fixture.open();
  REQUIRE(index);
  CHECK((*index)->find(stored(1).record->identity)->size() == 1);
  REQUIRE((*index)->put(stored(2)));
  CHECK((*index)->find(stored(2).record->identity)->size() == 1);
  index->reset();
  const Bytes bytes = read_file(fixture.file);
  const bool rollback_journal = bytes[18] == std::byte{1};  // sqlite.org/fileformat.html, write version
  const bool sound = sqlite3_libversion_number() >= 3'051'003;
  CHECK(rollback_journal == !sound);
}

}  // namespace
}  // namespace cubinet::test
