// SPDX-License-Identifier: Apache-2.0
#include <cubinet/base/byte_stream.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace cubinet {
namespace {

Bytes sample() {
  ByteWriter writer;
  writer.u8(0x12);
  writer.u16(0x3456);
  writer.u32(0x789abcde);
  writer.u64(0x1122334455667788);
  writer.i64(-2);
  writer.string("cubin");
  return writer.take();
}

TEST_CASE("integers are little endian and strings carry their length") {
  CHECK(to_hex(sample()) == "125634debc9a788877665544332211feffffffffffffff05000000637562696e");
}

TEST_CASE("what was written is read back") {
  const Bytes bytes = sample();
  ByteReader reader(bytes);
  CHECK(*reader.u8() == 0x12);
  CHECK(*reader.u16() == 0x3456);
  CHECK(*reader.u32() == 0x789abcde);
  CHECK(*reader.u64() == 0x1122334455667788);
  CHECK(*reader.i64() == -2);
  CHECK(*reader.string() == "cubin");
  CHECK(reader.remaining() == 0);
}

TEST_CASE("every truncation is an error and nothing is read beyond the end" * doctest::test_suite("loop")) {
  const Bytes bytes = sample();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    ByteReader reader(cut);
    const auto read_all = [&]() -> Result<void> {
      CUBINET_TRY(reader.u8());
      CUBINET_TRY(reader.u16());
      CUBINET_TRY(reader.u32());
      CUBINET_TRY(reader.u64());
      CUBINET_TRY(reader.i64());
      CUBINET_TRY(reader.string());
      return {};
    };
    const auto outcome = read_all();
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::corruption);
  }
}

TEST_CASE("a length that is larger than what is left is an error") {
  ByteWriter writer;
  writer.u32(0xffffffff);
  ByteReader reader(writer.bytes());
  CHECK_FALSE(reader.string());
}

TEST_CASE("a writer holds what was written and no more, whatever room it was given") {
  ByteWriter writer;
  CHECK(writer.take().empty());
  writer.reserve(1'000);
  CHECK(writer.bytes().empty());
  std::string text;
  for (int i = 0; i < 1'000; ++i) {
    writer.raw(as_bytes("abc"));
    text += "abc";
    REQUIRE(as_text(writer.bytes()) == text);
  }
  CHECK(as_text(writer.take()) == text);
  CHECK(writer.bytes().empty());
  writer.u8(7);
  CHECK(writer.take() == Bytes{std::byte{7}});
}

TEST_CASE("hexadecimal text goes both ways and refuses the rest") {
  CHECK(to_hex(*from_hex("00ffAb")) == "00ffab");
  CHECK(from_hex("")->empty());
  CHECK_FALSE(from_hex("abc"));
  CHECK_FALSE(from_hex("0g"));
  CHECK_FALSE(from_hex("-1"));
}

}  // namespace
}  // namespace cubinet
