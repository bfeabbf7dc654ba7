// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/byte_stream.hpp>
#include <cubinet/base/sha256_hasher.hpp>

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

TEST_CASE("the digests of FIPS 180 are right") {
  CHECK(sha256(as_bytes("")).to_hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256(as_bytes("abc")).to_hex() ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256(as_bytes(std::string(1'000'000, 'a'))).to_hex() ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("hashing in chunks is hashing the whole") {
  Sha256Hasher hasher;
  hasher.raw(as_bytes("a"));
  hasher.raw(as_bytes("bc"));
  CHECK(hasher.finish() == sha256(as_bytes("abc")));
}

TEST_CASE("fields that join to the same text hash differently") {
  const auto digest = [](std::string_view tag, std::string_view first, std::string_view second) {
    Sha256Hasher hasher;
    hasher.field(tag, first);
    hasher.field(tag, second);
    return hasher.finish();
  };
  CHECK(digest("t", "ab", "c") != digest("t", "a", "bc"));
  CHECK(digest("t", "", "abc") != digest("t", "abc", ""));
  CHECK(digest("ta", "b", "c") != digest("t", "ab", "c"));
}

TEST_CASE("a field is its tag and its content, each behind its length") {
  ByteWriter expected;
  expected.string("template");
  expected.u64(8);
  expected.raw(as_bytes("rms_norm"));
  Sha256Hasher hasher;
  hasher.field("template", "rms_norm");
  CHECK(hasher.finish() == sha256(expected.bytes()));
}

TEST_CASE("a digest is parsed from its digits and from nothing else") {
  const Sha256Digest digest = sha256(as_bytes("abc"));
  CHECK(*Sha256Digest::parse(digest.to_hex()) == digest);
  CHECK_FALSE(Sha256Digest::parse(digest.to_hex().substr(1)));
  CHECK_FALSE(Sha256Digest::parse(digest.to_hex() + "00"));
  CHECK_FALSE(Sha256Digest::parse(std::string(64, 'x')));
}

}  // namespace
}  // namespace cubinet
