// SPDX-License-Identifier: Apache-2.0
#include "blake2b.hpp"

#include <doctest/doctest.h>

using namespace cubinet;

namespace {

Bytes counting(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

}  // namespace

TEST_CASE("BLAKE2b of 32 bytes gives what other implementations give") {
  CHECK(to_hex(blake2b_256({})) == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  CHECK(to_hex(blake2b_256(as_bytes("abc"))) ==
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  CHECK(to_hex(blake2b_256(counting(74))) ==
        "ebae0805fd52d3e9f5f29aeb33b6be8cab0f28e668990d3cb95444d9ef90b932");
  CHECK(to_hex(blake2b_256(counting(128))) ==
        "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1");
}

TEST_CASE("BLAKE2b of 64 bytes is that of libcrypto") {
  const auto digest = blake2b_512(as_bytes("abc"));
  REQUIRE(digest);
  CHECK(to_hex(*digest) ==
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
}
