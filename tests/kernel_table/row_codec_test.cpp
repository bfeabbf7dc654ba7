// SPDX-License-Identifier: Apache-2.0
#include "random_rows.hpp"

#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace cubinet {
namespace {

// Frozen: a change here changes every stored key, and needs a new schema version.
TEST_CASE("the encoding and key of a row equal the golden vectors") {
  const KernelRow row = test::sample_row();
  CHECK(to_hex(encode_row(row)) ==
        "434b45590200010a0000007472746c6c6d2d67656e110000000b000000646174615f747970655f6b0204000000626631360b"
        "000000646174615f747970655f6f0204000000626631360b000000646174615f747970655f710204000000626631360b0000"
        "00646174615f747970655f760204000000626631360e00000067726f7570735f68656164735f7100011500000067726f7570"
        "735f746f6b656e735f68656164735f71000112000000686561645f64696d5f7065725f6374615f760180000000000000000b"
        "000000686561645f64696d5f716b0180000000000000000a000000686561645f64696d5f760180000000000000000b000000"
        "6b65726e656c5f7479706502050000007377617073040000006d61736b020600000063617573616c120000006d756c74695f"
        "637461735f6b765f6d6f64650204000000676d656d0a000000716b765f6c61796f7574020800000070616765645f6b760700"
        "0000737465705f6b7601000100000000000006000000737465705f710108000000000000000b00000074696c655f73697a65"
        "5f710108000000000000000f000000746f6b656e735f7065725f7061676501400000000000000000000000");
  CHECK(identify(row).key().to_string() == "7906fb86af52cddd");
}

TEST_CASE("selectors that differ in one field have other words, and equal ones the same" *
          doctest::test_suite("loop")) {
  std::mt19937_64 random(3);
  const std::uint64_t count = 10'000'000 / test::kPropertyDivisor;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; i += 2) {
    const KernelSelector selector = test::random_selector(random);
    KernelRow neighbour;
    neighbour.selector = selector;
    KernelRow other;
    other.selector = test::random_selector(random);
    const auto columns = kernel_columns();
    const Column& column = columns[random() % columns.size()];
    if (!column.asked_for) continue;
    column.set(neighbour, column.get(other));
    const bool same = encode_selector(neighbour.selector) == encode_selector(selector);
    if (same != (neighbour.selector == selector)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("decoding a row gives what tells it from others, and one that differs has another key") {
  std::mt19937_64 random(4);
  std::map<Bytes, std::uint64_t> keys;
  for (int i = 0; i < 1'000; ++i) {
    KernelRow row = test::random_row(random);
    if (i % 3 == 0) row.layout = "0.6.2";
    if (i % 2 == 0) row.pin = row.digest.to_hex();
    const auto decoded = decode_row(encode_row(row));
    REQUIRE_MESSAGE(decoded.has_value(), decoded.error().to_line());
    CHECK(decoded->selector == row.selector);
    CHECK(decoded->traits == row.traits);
    CHECK(decoded->implementation == row.implementation);
    CHECK(decoded->layout == row.layout);
    CHECK(decoded->pin == row.pin);
    CHECK(published_spec(*decoded) == published_spec(row));
    CHECK(identify(row) == identify(published_spec(row), row.target));
    keys.emplace(encode_row(row), identify(published_spec(row)).hash());
  }
  std::set<std::uint64_t> distinct;
  for (const auto& [encoding, key] : keys)
    distinct.insert(key);
  CHECK(distinct.size() == keys.size());
}

TEST_CASE("names, sizes, digests, targets and columns that are off are no part of the kernel") {
  const KernelRow a = test::sample_row();
  KernelRow b = a;
  b.function_name = "another";
  b.shared_bytes = 1;
  b.threads = 1;
  b.digest = sha256(as_bytes("another"));
  b.target = {10, 3, TargetKind::specific};
  b.extras = {{"mReserved1", "false"}};
  CHECK(published_spec(a) == published_spec(b));
  b.extras = {{"mReserved1", "true"}};
  CHECK_FALSE(published_spec(a) == published_spec(b));
  CHECK_FALSE(encode_row(a) == encode_row(b));
}

TEST_CASE(
    "rows that differ in implementation, layout, pin or a trait are two kernels with keys of their own") {
  const KernelRow row = test::sample_row();
  std::vector<KernelRow> others(7, row);
  others[0].implementation = "attention_decode";
  others[1].traits.stages = 3;
  others[2].traits.step_q = 16;
  others[3].traits.step_kv = 48;
  others[4].traits.groups_heads_q = false;
  others[5].layout = "0.6.2";
  others[6].pin = row.digest.to_hex();
  for (const KernelRow& other : others)
    CHECK_FALSE(identify(published_spec(other)) == identify(published_spec(row)));
}

TEST_CASE(
    "values out of range, of another type, at their default or of a column that identifies nothing are "
    "refused") {
  const KernelSpec good = published_spec(test::sample_row());
  REQUIRE(row_of(good));
  CHECK(row_of(KernelSpec(good).set("head_dim_qk", 129)).error().code == ErrorCode::invalid_argument);
  for (const KernelSpec& spec :
       {KernelSpec(good).set("head_dim_qk", "128"), KernelSpec(good).set("two_cta", 1),
        KernelSpec(good).set("two_cta", false), KernelSpec(good).set("mask", "slanted"),
        KernelSpec(good).set("threads", 128), KernelSpec(good).set("pin", ""),
        KernelSpec(good).set("mFuture", "false"), KernelSpec{"rms_norm", {}}}) {
    const auto row = row_of(spec);
    REQUIRE_MESSAGE(!row.has_value(), spec.to_string());
    CHECK(row.error().code == ErrorCode::corruption);
  }
}

TEST_CASE("any change of the bytes is another kernel or an error, and cutting them is an error") {
  KernelRow row = test::sample_row();
  row.extras = {{"mFuture", "2"}};
  const Bytes encoding = encode_row(row);
  for (std::size_t size = 0; size < encoding.size(); ++size)
    CHECK_FALSE(decode_row(ByteView(encoding).first(size)));
  for (std::size_t i = 0; i < encoding.size() * 8; ++i) {
    Bytes changed = encoding;
    changed[i / 8] ^= static_cast<std::byte>(1U << (i % 8));
    const auto decoded = decode_row(changed);
    if (decoded) CHECK(encode_row(*decoded) == changed);
  }
}

}  // namespace
}  // namespace cubinet
