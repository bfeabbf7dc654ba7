// SPDX-License-Identifier: Apache-2.0
#include "random_rows.hpp"

#include <cubinet/base/byte_stream.hpp>
#include <cubinet/kernel_table/table_codec.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace cubinet {
namespace {

std::vector<KernelRow> random_rows(std::size_t count) {
  std::mt19937_64 random(5);
  std::vector<KernelRow> rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(test::random_row(random));
    if (i % 2 == 0) rows.back().layout = "0.6.13";
    rows.back().pin = sha256(as_bytes(std::to_string(i % 3))).to_hex();
  }
  return rows;
}

TEST_CASE("a table read back holds the rows that were written") {
  const auto rows = random_rows(300);
  const auto bytes = encode_table(rows);
  REQUIRE(bytes);
  const auto read = decode_table(*bytes);
  REQUIRE(read);
  CHECK(*read == rows);
  CHECK(decode_table(*encode_table({}))->empty());
}

TEST_CASE("a table of other columns is read, missing ones by their defaults and unknown ones kept") {
  ByteWriter writer;
  writer.raw(as_bytes("CTAB"));
  writer.u16(kTableVersion);
  writer.u32(7);
  const auto column = [&](std::string_view name, std::uint8_t kind) {
    writer.string(name);
    writer.u8(kind);
  };
  column("head_dim_v", 0);
  column("from_the_future", 0);
  column("head_dim_qk", 0);
  column("head_dim_per_cta_v", 0);
  column("target", 4);
  column("step_q", 0);
  column("step_kv", 0);
  writer.u32(1);
  writer.u32(64);
  writer.u32(9);
  writer.u32(64);
  writer.u32(64);
  writer.string("10.3a");
  writer.u32(128);
  writer.u32(256);
  writer.u32(0);
  const auto read = decode_table(writer.bytes());
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  const KernelRow& row = read->front();
  CHECK(row.selector.head_dim_v == 64);
  CHECK(row.selector.tile_size_q == 128);
  CHECK(row.threads == 512);
  CHECK(row.target == SmTarget{10, 3, TargetKind::specific});
  REQUIRE(row.extras.size() == 1);
  CHECK(row.extras[0] == ExtraColumn{"from_the_future", "9"});
}

TEST_CASE("a newer version of a table is refused as unsupported") {
  ByteWriter writer;
  writer.raw(as_bytes("CTAB"));
  writer.u16(kTableVersion + 1);
  const auto read = decode_table(writer.bytes());
  REQUIRE(!read);
  CHECK(read.error().code == ErrorCode::unsupported);
}

TEST_CASE(
    "no bytes crash the reader of tables, every missing one is noticed, and what is read can be written" *
    doctest::test_suite("loop")) {
  const Bytes bytes = *encode_table(random_rows(3));
  std::mt19937_64 random(6);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CHECK_FALSE(decode_table(ByteView(bytes).first(i)));
    Bytes changed = bytes;
    changed[i] = static_cast<std::byte>(random());
    changed[6 + random() % (bytes.size() - 6)] ^= std::byte{0x40};
    const auto read = decode_table(changed);
    if (read) CHECK(encode_table(*read));
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_table(longer));
}

}  // namespace
}  // namespace cubinet
