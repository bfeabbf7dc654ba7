// SPDX-License-Identifier: Apache-2.0
#include "kernel_row_table.hpp"

#include "cubin_registry/table_fixture.hpp"
#include "kernel_table/random_rows.hpp"

#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <random>

namespace cubinet::test {
namespace {

// Rows of every kind of value, of entries and of imports.
std::vector<KernelRow> mixed_rows(std::size_t count) {
  std::mt19937_64 random(17);
  std::vector<KernelRow> rows;
  for (std::size_t i = 0; i < count; ++i) {
    KernelRow row = random_row(random);
    row.function_name += "_" + std::to_string(i);
    row.provenance = {static_cast<RowOrigin>(i % 3), false, i % 5, "", {}};
    if (row.provenance.origin == RowOrigin::compiled) row.provenance.fingerprint = sha256(as_bytes("build"));
    if (row.provenance.origin == RowOrigin::imported)
      row.provenance.source = "folder" + std::to_string(i % 5);
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::map<std::uint64_t, std::string> kSources = {
    {0, "folder0"}, {1, "folder1"}, {2, "folder2"}, {3, "folder3"}, {4, "folder4"}};

void insert(KernelRowTable& table, const std::vector<KernelRow>& rows) {
  std::int64_t entry = 0;
  for (const KernelRow& row : rows) {
    if (row.provenance.origin == RowOrigin::imported) {
      REQUIRE(table.insert_of_import(row.provenance.version, row));
    } else {
      REQUIRE(table.insert_of_entry(++entry, row));
    }
  }
}

TEST_CASE("rows read from the database are those that were written, field by field") {
  TableFixture fixture;
  KernelRowTable table;
  REQUIRE(table.prepare(fixture.database));
  const auto rows = mixed_rows(500);
  insert(table, rows);
  const auto read = table.read(kSources);
  REQUIRE_MESSAGE(read.has_value(), read.error().to_line());
  CHECK(*read == rows);
}

TEST_CASE("every field is a column of its own, which plain SQL reads") {
  TableFixture fixture;
  KernelRowTable table;
  REQUIRE(table.prepare(fixture.database));
  const auto rows = mixed_rows(1);
  insert(table, rows);
  for (const Column& column : kernel_columns()) {
    const auto value = fixture.database.integer("SELECT " + std::string(column.name) + " FROM kernels");
    CHECK(*value == column.get(rows[0]));
  }
  CHECK(static_cast<std::uint64_t>(*fixture.database.integer("SELECT key FROM kernels")) ==
        identify(published_spec(rows[0]), rows[0].target).key().value);
  CHECK(*fixture.database.text("SELECT function_name FROM kernels") == rows[0].function_name);
  CHECK(*fixture.database.text("SELECT implementation FROM kernels") == rows[0].implementation);
  CHECK(*fixture.database.text("SELECT lower(hex(digest)) FROM kernels") == rows[0].digest.to_hex());
}

TEST_CASE("a row that was changed behind our back is corruption, whichever column it was") {
  TableFixture fixture;
  KernelRowTable table;
  REQUIRE(table.prepare(fixture.database));
  const auto rows = mixed_rows(1);
  insert(table, rows);
  REQUIRE(table.read(kSources));
  std::vector<std::string> changes;
  for (const Column& column : kernel_columns())
    changes.push_back(std::string(column.name) + " = " + std::to_string(column.get(rows[0]) == 0 ? 1 : 0));
  for (const char* change : {"key = key + 1", "implementation = 'other'", "target = '9.9a'", "origin = 1",
                             "function_name = 'other'", "digest = zeroblob(32)", "version = 77",
                             "extras = x'01'", "fingerprint = zeroblob(32)", "checksum = checksum + 1"})
    changes.emplace_back(change);
  for (const std::string& change : changes) {
    CAPTURE(change);
    REQUIRE(fixture.database.execute("SAVEPOINT before"));
    REQUIRE(fixture.database.execute(("UPDATE kernels SET " + change).c_str()));
    const auto read = table.read(kSources);
    REQUIRE(!read);
    CHECK(read.error().code == ErrorCode::corruption);
    REQUIRE(fixture.database.execute("ROLLBACK TO before"));
  }
  CHECK(table.read(kSources));
}

TEST_CASE("rows are erased with their entry or import") {
  TableFixture fixture;
  KernelRowTable table;
  REQUIRE(table.prepare(fixture.database));
  KernelRow row = artifact_row(1);
  REQUIRE(table.insert_of_entry(7, row));
  row.provenance.version = 3;
  REQUIRE(table.insert_of_import(3, row));
  row.provenance.version = 4;
  REQUIRE(table.insert_of_import(4, row));
  CHECK(table.read(kSources)->size() == 3);
  REQUIRE(table.erase_import(4));
  CHECK(table.read(kSources)->size() == 2);
  REQUIRE(table.erase_entry(7));
  CHECK(table.read(kSources)->size() == 1);
  REQUIRE(table.clear());
  CHECK(table.read(kSources)->empty());
}

}  // namespace
}  // namespace cubinet::test
