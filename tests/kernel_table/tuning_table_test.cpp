// SPDX-License-Identifier: Apache-2.0
#include "support/measured_row.hpp"
#include "support/ok.hpp"

#include <cubinet/kernel_table/tuning_table.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace cubinet;
using test::ok;

namespace {

TuningTable::Row row_of(std::uint32_t batch, std::uint32_t kv_len, std::int64_t measured = 1'800'000'000) {
  TuningTable::Row row = test::measured_row(batch, measured);
  row.kv_len = kv_len;
  return row;
}

TuningTable table_of(const std::vector<TuningTable::Row>& rows) {
  TuningTable table;
  for (const TuningTable::Row& row : rows)
    table.add(row);
  return table;
}

}  // namespace

TEST_CASE("a tuning table is read as it was written") {
  TuningTable::Row choice_of_a_backend = row_of(1, 1024);
  choice_of_a_backend.backend = "published";
  choice_of_a_backend.kernel = {};
  choice_of_a_backend.splits = 0;
  const TuningTable table = table_of({row_of(64, 8192), choice_of_a_backend});
  CHECK(ok(TuningTable::decode(table.encode())) == table);
  CHECK(ok(TuningTable::decode(TuningTable().encode())).empty());
}

TEST_CASE("no byte of a tuning table can be another, and none can be missing") {
  const Bytes bytes = table_of({row_of(64, 8192), row_of(1, 1024)}).encode();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes damaged = bytes;
    damaged[i] ^= std::byte{1};
    CHECK_FALSE(TuningTable::decode(damaged).has_value());
    CHECK_FALSE(TuningTable::decode(ByteView(bytes).first(i)).has_value());
  }
}

TEST_CASE("equal rows make one digest, whatever the order in which they came") {
  std::vector<TuningTable::Row> rows = {row_of(64, 8192), row_of(1, 1024), row_of(64, 4096), row_of(3, 8192)};
  const Sha256Digest digest = table_of(rows).digest();
  std::mt19937 generator(7);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(rows.begin(), rows.end(), generator);
    CHECK(table_of(rows).digest() == digest);
  }
}

TEST_CASE("a date that is none is damage, and the row of a subject is found whenever it was measured") {
  for (const std::int64_t when : {std::int64_t{-1}, kLatestMeasurement + 1, INT64_MAX, INT64_MIN}) {
    CAPTURE(when);
    const auto decoded = TuningTable::decode(table_of({row_of(64, 8192, when)}).encode());
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::corruption);
  }
  const TuningTable table = table_of({row_of(64, 8192, kLatestMeasurement), row_of(1, 1024)});
  CHECK(ok(TuningTable::decode(table.encode())) == table);
  const TuningTable::Row* const found = table.find(row_of(64, 8192));
  REQUIRE(found != nullptr);
  CHECK(found->measured == kLatestMeasurement);
  CHECK(table.find(row_of(64, 4096)) == nullptr);
  CHECK(table.find(row_of(65, 8192)) == nullptr);
}

TEST_CASE("what decode would refuse is named by its row before it is written") {
  ok(table_of({row_of(64, 8192), row_of(1, 1024)}).check());
  const auto without_kernel = [](TuningTable::Row& row) { row.kernel = {}; };
  for (auto change :
       {+[](TuningTable::Row& row) { row.microseconds = std::nan(""); },
        +[](TuningTable::Row& row) { row.microseconds = -1; },
        +[](TuningTable::Row& row) { row.microseconds = -0.0; },
        +[](TuningTable::Row& row) { row.modelled_microseconds = std::numeric_limits<double>::infinity(); },
        +[](TuningTable::Row& row) { row.batch = 0; }, +[](TuningTable::Row& row) { row.kv_len = 0; },
        +[](TuningTable::Row& row) { row.measured = -1; },
        +[](TuningTable::Row& row) { row.measured = INT64_MAX; }, +without_kernel}) {
    TuningTable::Row row = row_of(33, 77);
    change(row);
    const TuningTable table = table_of({row_of(64, 8192), row});
    const auto checked = table.check();
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::invalid_argument);
    CHECK(checked.error().message.find(row.problem + ", batch " + std::to_string(row.batch)) !=
          std::string::npos);
    const auto decoded = TuningTable::decode(table.encode());
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::corruption);
    CHECK(decoded.error().message.find("row ") != std::string::npos);
  }
}

TEST_CASE("a table of no bytes, of too few or of too many is told as such") {
  const auto why = [](const Bytes& bytes) { return TuningTable::decode(bytes).error().message; };
  CHECK(why({}) == "a tuning table is empty");
  CHECK(why(Bytes(5)) == "a tuning table ends early");
  CHECK(why(Bytes(kMaximumTuningBytes + 1)).find("16777217 bytes") != std::string::npos);
}

TEST_CASE("of two measurements of one subject the later counts, whoever is merged into whom") {
  TuningTable::Row later = row_of(64, 8192, 1'900'000'000);
  later.microseconds = 50;
  const TuningTable old_table = table_of({row_of(64, 8192), row_of(1, 1024)});
  const TuningTable new_table = table_of({later, row_of(2, 1024)});
  TuningTable one = old_table;
  one.merge(new_table);
  TuningTable other = new_table;
  other.merge(old_table);
  CHECK(one == other);
  REQUIRE(one.rows().size() == 3);
  CHECK(one.find(later.problem, 64, 8192, later.device).front()->microseconds == 50);
}

TEST_CASE("what was measured just now replaces a row of any date that a clock has made up") {
  for (const std::int64_t when : {std::int64_t{0}, std::int64_t{4'000'000'000}, std::int64_t{200'000'000'000},
                                  kLatestMeasurement - 1, kLatestMeasurement}) {
    CAPTURE(when);
    for (std::uint32_t splits = 1; splits < 9; ++splits) {
      TuningTable table = table_of({row_of(64, 8192, when)});
      TuningTable::Row now = row_of(64, 8192, 1'800'000'000);
      now.splits = splits;
      now.microseconds = splits;
      TuningTable::date_after(now, table.rows().front());
      table.add(now);
      CHECK(table.rows() == std::vector{now});
      table.add(row_of(64, 8192, when));
      CHECK(table.rows() == std::vector{now});
      CHECK(ok(TuningTable::decode(table.encode())) == table);
    }
  }
}

TEST_CASE("large tables are merged as if their rows were added one by one, in one pass") {
  TuningTable even;
  TuningTable odd;
  for (std::uint32_t batch = 1; batch <= 60'000; ++batch) {
    if (batch % 3 != 0) even.add(row_of(batch, 1024, 1'800'000'000));
    if (batch % 3 != 1) odd.add(row_of(batch, 1024, 1'800'000'000 + batch));
  }
  TuningTable one = even;
  one.merge(odd);
  REQUIRE(one.rows().size() == 60'000);
  TuningTable other = odd;
  other.merge(even);
  CHECK(one == other);
  const TuningTable::Row* both = one.find(row_of(5, 1024));
  REQUIRE(both != nullptr);
  CHECK(both->measured == 1'800'000'005);
  CHECK(one.check());
  CHECK(TuningTable::decode(one.encode()));
}

TEST_CASE("measurements of one moment that differ are merged alike everywhere") {
  TuningTable::Row other = row_of(64, 8192);
  other.splits = 5;
  TuningTable one = table_of({row_of(64, 8192)});
  one.merge(table_of({other}));
  TuningTable two = table_of({other});
  two.merge(table_of({row_of(64, 8192)}));
  CHECK(one.digest() == two.digest());
}

TEST_CASE("another driver, device or version of a kernel replaces nothing") {
  TuningTable table = table_of({row_of(64, 8192)});
  for (auto change : {+[](TuningTable::Row& row) { row.driver = 12'080; },
                      +[](TuningTable::Row& row) { row.device = "NVIDIA H100, 9.0, 132 multiprocessors"; },
                      +[](TuningTable::Row& row) { row.version = "5:0123456789abcdef"; }}) {
    TuningTable::Row row = row_of(64, 8192, 1'900'000'000);
    change(row);
    table.add(row);
  }
  CHECK(table.rows().size() == 4);
}

TEST_CASE("a bucket holds the lengths that round up to its powers of two, the nearest first") {
  const TuningTable table =
      table_of({row_of(33, 8192), row_of(64, 8192), row_of(64, 5000), row_of(32, 8192)});
  const auto find = [&](std::uint32_t batch, std::uint32_t kv_len) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (const auto* row : table.find(row_of(1, 1).problem, batch, kv_len, row_of(1, 1).device))
      found.emplace_back(row->batch, row->kv_len);
    return found;
  };
  CHECK(find(64, 8192) == decltype(find(1, 1)){{64, 8192}, {64, 5000}, {33, 8192}});
  CHECK(find(40, 8000) == decltype(find(1, 1)){{33, 8192}, {64, 8192}, {64, 5000}});
  CHECK(find(32, 8192) == decltype(find(1, 1)){{32, 8192}});
  CHECK(find(64, 4096).empty());
  CHECK(find(65, 8192).empty());
  CHECK(table.find(row_of(1, 1).problem, 64, 8192, "NVIDIA H100, 9.0, 132 multiprocessors").empty());
  CHECK(table.find("decode(heads_q=32)", 64, 8192, row_of(1, 1).device).empty());
}
