// SPDX-License-Identifier: Apache-2.0
#include "entry_table.hpp"

#include "cubin_registry/table_fixture.hpp"

namespace cubinet::test {
namespace {

StoredRecord stored(int number, std::int64_t time = 1) {
  return {cubin_of(number).record, time};
}

TEST_CASE("the row of an entry is inserted, found by its key and encoding, and erased by its id") {
  TableFixture fixture;
  EntryTable table;
  REQUIRE(table.prepare(fixture.database));
  const StoredRecord record = stored(1, 5);
  const Bytes encoded = encode_record(*record.record);
  CHECK_FALSE(*table.holds(record, encoded));
  const auto id = table.insert(record, encoded);
  REQUIRE(id);
  CHECK(*table.id_of(*record.record) == *id);
  CHECK(*table.holds(record, encoded));
  CHECK_FALSE(*table.holds(stored(1, 6), encoded));
  REQUIRE(table.insert(stored(2), encode_record(*stored(2).record)));
  CHECK(table.find(record.record->identity)->front().published_ns == 5);
  CHECK(*table.count() == 2);
  CHECK(table.totals()->cubins == 2);
  CHECK(*table.names_image(record.record->digest));
  std::size_t seen = 0;
  REQUIRE(table.for_each(
      [&](KernelKey, ByteView bytes, std::int64_t) { seen += decode_record(bytes) ? 1U : 0U; }));
  CHECK(seen == 2);
  REQUIRE(table.erase(*id));
  CHECK_FALSE(*table.id_of(*record.record));
  REQUIRE(table.clear());
  CHECK(table.list()->empty());
}

TEST_CASE("a row with a damaged record is corruption") {
  TableFixture fixture;
  EntryTable table;
  REQUIRE(table.prepare(fixture.database));
  REQUIRE(table.insert(stored(1), encode_record(*stored(1).record)));
  REQUIRE(fixture.database.execute("UPDATE entries SET record = x'0102'"));
  CHECK(table.list().error().code == ErrorCode::corruption);
  CHECK(table.find(stored(1).record->identity).error().code == ErrorCode::corruption);
}

}  // namespace
}  // namespace cubinet::test
