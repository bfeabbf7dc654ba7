// SPDX-License-Identifier: Apache-2.0
#include "local/index.hpp"

#include "cubin_registry/home_fixture.hpp"
#include "support/ok.hpp"

#include <sqlite3.h>

namespace cubinet::test {
namespace {

namespace fs = std::filesystem;

StoredRecord stored(int number, std::string_view build = "build", std::int64_t time = 1) {
  const Cubin cubin = cubin_of(number, build);
  return {cubin.record, time, entry_name(*cubin.record)};
}

struct IndexFixture {
  TempDir folder;
  fs::path file = folder / "index.sqlite";

  Result<std::unique_ptr<Index>> open(Index::Mode mode = Index::Mode::read_write) {
    return Index::open(file, mode);
  }
  std::unique_ptr<Index> filled(std::vector<StoredRecord> records) {
    auto index = open();
    REQUIRE_MESSAGE(index.has_value(), why_not(index));
    REQUIRE((*index)->update(records, {}));
    return *std::move(index);
  }
  // Any SQL, as another program would run it.
  void execute(const char* sql) {
    sqlite3* connection = nullptr;
    REQUIRE(sqlite3_open(file.c_str(), &connection) == SQLITE_OK);
    CHECK(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(connection);
  }
};

TEST_CASE("rows are added, replaced and erased in one transaction") {
  IndexFixture fixture;
  auto index = fixture.filled({stored(1, "a", 10), stored(1, "b", 30), stored(2)});
  CHECK(index->records()->size() == 3);
  const std::vector<std::string> gone = {stored(2).name, "of nothing"};
  REQUIRE(index->update(std::vector{stored(1, "a", 40)}, gone));
  const auto rows = *index->records();
  REQUIRE(rows.size() == 2);
  for (const StoredRecord& row : rows) {
    const bool replaced = row.name == stored(1, "a").name;
    CHECK(row.published_ns == (replaced ? 40 : 30));
    CHECK(*row.record == *stored(1, replaced ? "a" : "b").record);
  }
  CHECK(index->check());
}

TEST_CASE("what one connection writes another one sees at its next question") {
  IndexFixture fixture;
  auto writer = *fixture.open();
  auto reader = *fixture.open();
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(reader->records()->size() == i);
    REQUIRE(writer->update(std::vector{stored(static_cast<int>(i))}, {}));
  }
}

TEST_CASE("other programs read whose build a row is of") {
  IndexFixture fixture;
  fixture.filled({stored(1)}).reset();
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open(fixture.file.c_str(), &connection) == SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(connection, "SELECT maker, kernel, target, key, size FROM entries", -1,
                             &statement, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  const auto text = [&](int column) {
    return std::string(static_cast<const char*>(sqlite3_column_blob(statement, column)));
  };
  const CubinRecord record = *stored(1).record;
  CHECK(text(0) == "template");
  CHECK(text(1) == "attention_decode");
  CHECK(text(2) == record.target_name());
  CHECK(sqlite3_column_int64(statement, 3) == static_cast<sqlite3_int64>(record.identity.key().value));
  CHECK(sqlite3_column_int64(statement, 4) == static_cast<sqlite3_int64>(record.size));
  sqlite3_finalize(statement);
  sqlite3_close(connection);
}

TEST_CASE("what is no index of ours is told by its error") {
  IndexFixture fixture;
  write_file(fixture.file, Bytes(5000, std::byte{9}));
  CHECK(fixture.open().error().code == ErrorCode::corruption);
  const auto damaged_by = [&](const char* change) {
    fs::remove(fixture.file);
    REQUIRE(fixture.open());
    fixture.execute(change);
    const auto opened = fixture.open();
    return !opened && opened.error().code == ErrorCode::corruption;
  };
  CHECK(damaged_by("PRAGMA user_version=5"));  // a newer build would say it twice
  CHECK(damaged_by("PRAGMA user_version=0"));
  CHECK(damaged_by("PRAGMA user_version=1; PRAGMA application_id=5"));
  CHECK(damaged_by("DROP TABLE entries"));
  CHECK(damaged_by("ALTER TABLE entries RENAME COLUMN record TO recorf"));
  CHECK(damaged_by("UPDATE schema SET checksum = checksum + 1"));
  CHECK(damaged_by("CREATE TABLE another (x)"));
  fs::remove(fixture.file);
  fixture.execute("CREATE TABLE t (x)");
  CHECK(fixture.open().error().code == ErrorCode::corruption);
}

TEST_CASE("an empty file is made an index, and for a reader it is none") {
  IndexFixture fixture;
  write_file(fixture.file, "");
  CHECK(fixture.open(Index::Mode::read_only).error().code == ErrorCode::not_found);
  CHECK(fixture.open(Index::Mode::as_it_is).error().code == ErrorCode::not_found);
  CHECK(fixture.filled({stored(1)})->records()->size() == 1);
  CHECK((*fixture.open(Index::Mode::read_only))->records()->size() == 1);
}

TEST_CASE("a false row is damage, never an answer") {
  for (const char* change :
       {"UPDATE entries SET record = CAST(replace(CAST(record AS TEXT), 'tests', 'TESTS') AS BLOB)",
        "UPDATE entries SET name = replace(name, '-', '+')", "UPDATE entries SET record = zeroblob(10)"}) {
    CAPTURE(change);
    IndexFixture fixture;
    fixture.filled({stored(1)}).reset();
    fixture.execute(change);
    CHECK((*fixture.open())->records().error().code == ErrorCode::corruption);
  }
}

TEST_CASE("a locked index is busy after a moment, not for ever") {
  IndexFixture fixture;
  auto index = fixture.filled({stored(1)});
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(fixture.file.c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  CHECK(index->records().error().code == ErrorCode::busy);
  CHECK(fixture.open().error().code == ErrorCode::busy);
  CHECK(index->update(std::vector{stored(2)}, {}).error().code == ErrorCode::busy);
  sqlite3_close(other);
  CHECK(index->records()->size() == 1);
}

TEST_CASE("a write ahead log is switched off, and a file that cannot be written is damaged") {
  IndexFixture fixture;
  fixture.filled({stored(1)}).reset();
  fixture.execute("PRAGMA journal_mode=WAL");
  auto index = fixture.open();
  REQUIRE(index);
  REQUIRE((*index)->update(std::vector{stored(2)}, {}));
  CHECK((*index)->records()->size() == 2);
  index->reset();
  Bytes bytes = read_file(fixture.file);
  CHECK(bytes[18] == std::byte{1});  // sqlite.org/fileformat.html, write version
  bytes[18] = std::byte{3};
  write_file(fixture.file, bytes);
  CHECK(fixture.open().error().code == ErrorCode::corruption);
}

}  // namespace
}  // namespace cubinet::test
