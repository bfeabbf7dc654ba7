// SPDX-License-Identifier: Apache-2.0
#include "random_rows.hpp"

#include <cubinet/kernel_table/column.hpp>
#include <cubinet/kernel_table/row_codec.hpp>

#include <doctest/doctest.h>

#include <set>

namespace cubinet {
namespace {

// Frozen: a change here is a change of every stored key, and needs a new schema version.
TEST_CASE("the encoding and key of a row equal the golden vectors") {
  const auto encoding = encode_row_identity(identity_of(test::sample_row()));
  REQUIRE(encoding);
  CHECK(to_hex(*encoding) ==
        "43524f57020001020102000100000101010102000800800080008000800000000000000000004000000000000000"
        "0800000000010000010000"
        "0a000000020a0000007472746c6c6d2d67656e00000000");
  CHECK(key_of(*encoding).to_string() == "74ec689e03e637d6");
}

TEST_CASE("decoding an encoding gives the selector back, neighbours in one field included") {
  std::mt19937_64 random(3);
  const std::uint64_t count = 10'000'000 / test::kPropertyDivisor;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; i += 2) {
    const KernelSelector selector = test::random_selector(random);
    const SelectorEncoding encoding = encode_selector(selector);
    const auto decoded = decode_selector(encoding);
    if (!decoded || !(*decoded == selector)) ++wrong;
    // A neighbour that differs in one field has another encoding, which decodes to the neighbour.
    KernelRow neighbour;
    neighbour.selector = selector;
    KernelRow other;
    other.selector = test::random_selector(random);
    const auto columns = kernel_columns();
    const Column& column = columns[random() % columns.size()];
    if (!column.asked_for) continue;
    column.set(neighbour, column.get(other));
    if (!check_ranges(neighbour.selector)) continue;
    const SelectorEncoding moved = encode_selector(neighbour.selector);
    if ((moved == encoding) != (neighbour.selector == selector)) ++wrong;
    const auto back = decode_selector(moved);
    if (!back || !(*back == neighbour.selector)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("decoding the identity of a row gives it back, and one that differs has another key") {
  std::mt19937_64 random(4);
  std::set<Bytes> encodings;
  std::set<std::uint64_t> keys;
  for (int i = 0; i < 5'000; ++i) {
    const RowIdentity identity = identity_of(test::random_row(random));
    const auto encoding = encode_row_identity(identity);
    REQUIRE(encoding);
    const auto decoded = decode_row_identity(*encoding);
    REQUIRE(decoded);
    CHECK(*decoded == identity);
    encodings.insert(*encoding);
    keys.insert(key_of(*encoding).value);
  }
  CHECK(encodings.size() == keys.size());
}

TEST_CASE("names, sizes, digests and columns that are off are no part of the identity") {
  KernelRow a = test::sample_row();
  KernelRow b = a;
  b.function_name = "another";
  b.shared_bytes = 1;
  b.threads = 1;
  b.digest = sha256(as_bytes("another"));
  b.extras = {{"mReserved1", "false"}};
  CHECK(identity_of(a) == identity_of(b));
  b.extras = {{"mReserved1", "true"}};
  CHECK_FALSE(identity_of(a) == identity_of(b));
}

TEST_CASE("rows that differ in implementation, stages or a trait are two kernels with keys of their own") {
  const KernelRow row = test::sample_row();
  std::vector<KernelRow> others(5, row);
  others[0].implementation = "attention_decode";
  others[1].traits.stages = 3;
  others[2].traits.step_q = 16;
  others[3].traits.step_kv = 48;
  others[4].traits.groups_heads_q = false;
  const auto key = [](const KernelRow& of) { return key_of(*encode_row_identity(identity_of(of))); };
  for (const KernelRow& other : others) {
    CHECK_FALSE(identity_of(other) == identity_of(row));
    CHECK(key(other).value != key(row).value);
  }
}

TEST_CASE("an encoding of the schema that was never stored is refused as damaged") {
  Bytes encoding = *encode_row_identity(identity_of(test::sample_row()));
  encoding[4] = std::byte{1};
  CHECK(decode_row_identity(encoding).error().code == ErrorCode::corruption);
}

TEST_CASE("values out of range have no encoding") {
  KernelRow row = test::sample_row();
  row.selector.head_dim_qk = 129;
  const auto encoding = encode_row_identity(identity_of(row));
  REQUIRE(!encoding);
  CHECK(encoding.error().code == ErrorCode::invalid_argument);
}

TEST_CASE("any change of the bytes is another identity or an error, and cutting them is an error") {
  KernelRow row = test::sample_row();
  row.extras = {{"mFuture", "2"}};
  const Bytes encoding = *encode_row_identity(identity_of(row));
  for (std::size_t size = 0; size < encoding.size(); ++size)
    CHECK_FALSE(decode_row_identity(ByteView(encoding).first(size)));
  for (std::size_t i = 0; i < encoding.size() * 8; ++i) {
    Bytes changed = encoding;
    changed[i / 8] ^= static_cast<std::byte>(1U << (i % 8));
    const auto decoded = decode_row_identity(changed);
    if (!decoded) continue;
    CHECK_FALSE(*decoded == identity_of(row));
    CHECK(*encode_row_identity(*decoded) == changed);
  }
  Bytes longer = encoding;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_row_identity(longer));
}

TEST_CASE("a newer schema of an encoding is refused as unsupported") {
  Bytes encoding = *encode_row_identity(identity_of(test::sample_row()));
  encoding[4] = std::byte{kRowSchemaVersion + 1};
  const auto decoded = decode_row_identity(encoding);
  REQUIRE(!decoded);
  CHECK(decoded.error().code == ErrorCode::unsupported);
  SelectorEncoding words = encode_selector(KernelSelector{});
  words[0] += 1;
  CHECK(decode_selector(words).error().code == ErrorCode::unsupported);
}

}  // namespace
}  // namespace cubinet
