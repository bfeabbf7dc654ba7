// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/distribution/action_result.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

namespace {

Bytes bytes_of(std::string_view text) {
  const ByteView view = as_bytes(text);
  return Bytes(view.begin(), view.end());
}

ActionResult two_files() {
  return {{{"kernel.image", sha256(as_bytes("image")), 300, {}},
           {"kernel.record", sha256(as_bytes("record")), 6, bytes_of("record")}}};
}

}  // namespace

TEST_CASE("an action result is read back as it was written") {
  const ActionResult read = ok(parse_action_result(encode_action_result(two_files())));
  REQUIRE(read.files.size() == 2);
  CHECK(read.find("kernel.image")->digest == sha256(as_bytes("image")));
  CHECK(read.find("kernel.image")->size == 300);
  CHECK(read.find("kernel.image")->contents.empty());
  CHECK(as_text(read.find("kernel.record")->contents) == "record");
  CHECK(read.find("record") == nullptr);
  CHECK(ok(parse_action_result({})).files.empty());
}

TEST_CASE("an action result has the bytes that protobuf gives it") {
  const ActionResult one{{{"a", sha256({}), 128, bytes_of("x")}}};
  // output_files = 2, path = 1, digest = 2 of hash = 1 and size_bytes = 2, contents = 5
  CHECK(to_hex(encode_action_result(one)) ==
        "124d"
        "0a0161"
        "12450a40" +
            to_hex(as_bytes("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")) +
            "108001"
            "2a0178");
}

TEST_CASE("fields that a server adds are passed over") {
  Bytes message =
      bytes_of(std::string_view("\x20\x07"           // exit_code = 4: 7
                                "\x2a\x02hi"         // stdout_raw = 5
                                "\x4a\x03\x0a\x01w"  // execution_metadata = 9: worker
                                "\x71"
                                "12345678"  // 14, of eight bytes
                                "\x7d"
                                "1234",  // 15, of four
                                25));
  const Bytes files = encode_action_result(two_files());
  message.insert(message.end(), files.begin(), files.end());
  CHECK(ok(parse_action_result(message)).files.size() == 2);
}

TEST_CASE("what is no action result is corruption" * doctest::test_suite("loop")) {
  const Bytes message = encode_action_result(two_files());
  const std::size_t first = 2 + static_cast<std::size_t>(message[1]);  // where the first file ends
  for (std::size_t size = 1; size < message.size(); ++size) {
    if (size == first) continue;
    const auto read = parse_action_result(ByteView(message).first(size));
    CHECK_MESSAGE(!read, size);
  }
  for (const std::string_view text :
       {std::string_view("<html>no</html>"), std::string_view("\x00", 1), std::string_view("\x13\x14"),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        std::string_view("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        std::string_view("\x12\x05\x12\x03\x0a\x01z")})
    CHECK(parse_action_result(as_bytes(text)).error().code == ErrorCode::corruption);
  // No value of a byte makes a reader read beyond the end.
  for (std::size_t at = 0; at < message.size(); ++at) {
    for (const unsigned flip : {1U, 0x80U, 0xFFU}) {
      Bytes damaged = message;
      damaged[at] ^= static_cast<std::byte>(flip);
      const auto read = parse_action_result(damaged);
      if (!read) CHECK(read.error().code == ErrorCode::corruption);
    }
  }
  ActionResult many;
  many.files.resize(65, two_files().files.front());
  CHECK(parse_action_result(encode_action_result(many)).error().code == ErrorCode::corruption);
}
