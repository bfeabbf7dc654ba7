// SPDX-License-Identifier: Apache-2.0
#include "local/sqlite.hpp"

#include "cubin_registry/home_fixture.hpp"

namespace cubinet::test {
namespace {

using sqlite::Database;

TEST_CASE("values come back as they were bound, empty ones and zero bytes too") {
  const TempDir folder;
  auto database = Database::open(folder / "db", Database::Mode::read_write);
  REQUIRE(database);
  REQUIRE(database->execute("CREATE TABLE t (i INTEGER NOT NULL, b BLOB NOT NULL, s TEXT NOT NULL) STRICT"));
  const Bytes zeros(3);
  {
    auto insert = database->prepare("INSERT INTO t VALUES (?1, ?2, ?3)");
    REQUIRE(insert);
    for (const ByteView blob : {ByteView(zeros), ByteView()}) {
      const sqlite::Run run(*insert);
      REQUIRE(insert->bind(1, std::int64_t{-5}).bind(2, blob).bind(3, std::string_view()).step());
    }
  }
  auto select = database->prepare("SELECT i, b, s FROM t ORDER BY rowid");
  REQUIRE(*select->step());
  CHECK(select->integer(0) == -5);
  CHECK(Bytes(select->blob(1).begin(), select->blob(1).end()) == zeros);
  CHECK(select->text(2).empty());
  REQUIRE(*select->step());
  CHECK(select->blob(1).empty());
  CHECK_FALSE(*select->step());
}

TEST_CASE("a transaction that is not committed leaves nothing") {
  const TempDir folder;
  auto database = Database::open(folder / "db", Database::Mode::read_write);
  REQUIRE(database->execute("CREATE TABLE t (i INTEGER)"));
  {
    auto transaction = sqlite::WriteTransaction::begin(*database);
    REQUIRE(transaction);
    REQUIRE(database->execute("INSERT INTO t VALUES (1)"));
  }
  CHECK(*database->integer("SELECT count(*) FROM t") == 0);
  {
    auto transaction = sqlite::WriteTransaction::begin(*database);
    REQUIRE(database->execute("INSERT INTO t VALUES (1)"));
    REQUIRE(transaction->commit());
  }
  CHECK(*database->integer("SELECT count(*) FROM t") == 1);
}

TEST_CASE("errors tell damage, locks and missing files apart") {
  const TempDir folder;
  CHECK(Database::open(folder / "none", Database::Mode::read_only).error().code == ErrorCode::io);
  write_file(folder / "noise", Bytes(4096, std::byte{3}));
  auto noise = Database::open(folder / "noise", Database::Mode::read_write);
  const auto answer =
      noise ? noise->integer("SELECT count(*) FROM sqlite_schema") : Result<std::int64_t>(noise.error());
  CHECK(answer.error().code == ErrorCode::corruption);
  auto one = Database::open(folder / "db", Database::Mode::read_write);
  auto two = Database::open(folder / "db", Database::Mode::read_write);
  REQUIRE(one->execute("CREATE TABLE t (i INTEGER); BEGIN EXCLUSIVE"));
  two->set_time_limit(std::chrono::milliseconds(1));
  CHECK(two->integer("SELECT count(*) FROM t").error().code == ErrorCode::busy);
  CHECK(sqlite::WriteTransaction::begin(*two).error().code == ErrorCode::busy);
  CHECK(one->prepare("SELECT nonsense FROM t").error().code == ErrorCode::corruption);
  CHECK_FALSE(one->moved());
  std::filesystem::rename(folder / "db", folder / "elsewhere");
  CHECK(one->moved());
}

}  // namespace
}  // namespace cubinet::test
