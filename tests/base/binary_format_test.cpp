// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/binary_format.hpp>
#include <cubinet/base/byte_stream.hpp>

#include <doctest/doctest.h>

namespace cubinet {
namespace {

constexpr BinaryFormat kSample{.name = "a sample",
                               .magic = "CSAM",
                               .newest = 3,
                               .oldest = 2,
                               .damage_remedy = "write it again",
                               .newer_remedy = "wait"};

Bytes checked_sample() {
  ByteWriter writer;
  kSample.write_head(writer);
  writer.u32(7);
  write_checksum(writer);
  return writer.take();
}

Bytes head_of_version(std::uint16_t version) {
  ByteWriter writer;
  writer.raw(as_bytes("CSAM"));
  writer.u16(version);
  return writer.take();
}

Error error_of_head(const Bytes& bytes) {
  ByteReader reader(bytes);
  return kSample.read_head(reader).error();
}

TEST_CASE("a format begins with its magic and its version") {
  const Bytes bytes = checked_sample();
  CHECK(to_hex(ByteView(bytes).first(10)) == "4353414d030007000000");
  CHECK(kSample.begins(bytes));
  CHECK_FALSE(kSample.begins(as_bytes("CSA")));
  CHECK_FALSE(kSample.begins(as_bytes("CBUN....")));
}

TEST_CASE("the versions that were stored are read") {
  for (const std::uint16_t version : {std::uint16_t{2}, std::uint16_t{3}}) {
    const Bytes bytes = head_of_version(version);
    ByteReader reader(bytes);
    CHECK(*kSample.read_head(reader) == version);
    CHECK(reader.remaining() == 0);
  }
}

TEST_CASE("another magic, an unknown version and a short head are damage") {
  CHECK(error_of_head({}).code == ErrorCode::corruption);
  const Bytes full = head_of_version(2);
  CHECK(error_of_head({full.begin(), full.end() - 1}).code == ErrorCode::corruption);
  const ByteView other = as_bytes("CBUN\x02");
  const Error foreign = error_of_head({other.begin(), other.end()});
  CHECK(foreign.code == ErrorCode::corruption);
  CHECK(foreign.message == "a sample has another magic");
  CHECK(foreign.remedy == "write it again");
  for (const std::uint16_t version : {std::uint16_t{0}, std::uint16_t{1}}) {
    const Error error = error_of_head(head_of_version(version));
    CHECK(error.code == ErrorCode::corruption);
    CHECK(error.message == "a sample has version " + std::to_string(version) + ", which was never stored");
  }
}

TEST_CASE("a newer version is unsupported and says what to do") {
  const Error error = error_of_head(head_of_version(4));
  CHECK(error.code == ErrorCode::unsupported);
  CHECK(error.message == "a sample has version 4, this build knows up to 3");
  CHECK(error.remedy == "wait");
}

TEST_CASE("the fields of a checked format are given once its digest is right") {
  const Bytes bytes = checked_sample();
  auto fields = kSample.read_checked(bytes);
  REQUIRE(fields);
  CHECK(fields->version == 3);
  CHECK(*fields->reader.u32() == 7);
  CHECK(fields->reader.remaining() == 0);
}

TEST_CASE("no flipped byte and no lost byte of a checked format goes unnoticed" *
          doctest::test_suite("loop")) {
  const Bytes whole = checked_sample();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes flipped = whole;
    flipped[i] ^= std::byte{1};
    CHECK_FALSE(kSample.read_checked(flipped));
    CHECK(kSample.read_checked(ByteView(whole).first(i)).error().code == ErrorCode::corruption);
  }
}

TEST_CASE("a digest is as many bytes as it has") {
  const Sha256Digest digest = sha256(as_bytes("abc"));
  CHECK(as_digest(digest.bytes) == digest);
  CHECK_FALSE(as_digest(ByteView(digest.bytes).first(31)));
  CHECK_FALSE(as_digest({}));
  ByteReader reader{ByteView(digest.bytes)};
  CHECK(*read_digest(reader) == digest);
  CHECK_FALSE(read_digest(reader));
}

}  // namespace
}  // namespace cubinet
