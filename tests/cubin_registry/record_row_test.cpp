// SPDX-License-Identifier: Apache-2.0
#include "store/record_row.hpp"

#include "cubin_registry/home_fixture.hpp"

#include <cubinet/kernel_table/row_codec.hpp>

namespace cubinet::test {
namespace {

CubinRecord record_with_row() {
  CubinRecord record = *cubin_of(1).record;
  KernelRow row;
  row.implementation = "attention_decode";
  row.traits.stages = 3;
  record.row = encode_row(row);
  return record;
}

TEST_CASE("the row of a record has its launch facts, its digest and where it comes from") {
  CubinRecord record = record_with_row();
  record.entry_points[0].dynamic_shared_bytes = 77;
  const auto row = row_of(record);
  REQUIRE(row);
  CHECK(row->implementation == "attention_decode");
  CHECK(row->traits.stages == 3);
  CHECK(row->target == record.target);
  CHECK(row->function_name == record.entry_points[0].symbol);
  CHECK(row->threads == record.entry_points[0].threads);
  CHECK(row->shared_bytes == 77);
  CHECK(row->digest == record.digest);
  CHECK(row->version == 0);
  record.origin = CubinOrigin::bundle;
  record.version = 9;
  CHECK(row_of(record)->version == 9);
}

TEST_CASE("PTX, records without a row and rows that lie or cannot be read have none") {
  CHECK_FALSE(row_of(*cubin_of(1).record));
  CubinRecord record = record_with_row();
  record.kind = ImageKind::ptx;
  CHECK_FALSE(row_of(record));
  record = record_with_row();
  record.entry_points.clear();
  CHECK_FALSE(row_of(record));
  record = record_with_row();
  record.entry_points[0].threads = 5000;
  CHECK_FALSE(row_of(record));
  record = record_with_row();
  for (std::size_t size = 1; size < record.row.size(); ++size) {
    CubinRecord cut = record;
    cut.row.resize(size);
    CHECK_FALSE(row_of(cut));
  }
}

}  // namespace
}  // namespace cubinet::test
