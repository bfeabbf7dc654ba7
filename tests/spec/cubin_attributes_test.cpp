// SPDX-License-Identifier: Apache-2.0
#include "cubin_attributes.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

// Returns .nv.compat as ptxas 13.0 writes it for sm_90a.
Bytes compatibility() {
  return *from_hex("020901000202010002050500030701010203000002060100040b08000000000000000000");
}

TEST_CASE("attributes of every format are read as tag, length and value") {
  const Bytes bytes = compatibility();
  CubinAttributes attributes(bytes);
  std::vector<std::string> read;
  while (const auto attribute = attributes.next())
    read.push_back(std::to_string(attribute->tag) + ":" + to_hex(attribute->value));
  CHECK(read ==
        std::vector<std::string>{"9:01", "2:01", "5:05", "7:0101", "3:00", "6:01", "11:0000000000000000"});
  CHECK_FALSE(attributes.damaged());
}

TEST_CASE("an attribute that ends outside its section is damage, and nothing is read behind it") {
  const Bytes bytes = compatibility();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CubinAttributes attributes(ByteView(bytes).first(length));
    std::size_t count = 0;
    while (attributes.next())
      ++count;
    CAPTURE(length);
    CHECK(count == std::min<std::size_t>(length / 4, 6));
    CHECK(attributes.damaged() == (length % 4 != 0 || length >= 28));
  }
  for (const char* unknown : {"00010000", "05010000"}) {
    const Bytes one = *from_hex(unknown);
    CubinAttributes attributes(one);
    CHECK_FALSE(attributes.next());
    CHECK(attributes.damaged());
  }
}

TEST_CASE("a word that the value does not reach is 0") {
  const Bytes bytes = *from_hex("0410060001020304aabb");
  const auto attribute = CubinAttributes(bytes).next();
  REQUIRE(attribute);
  CHECK(attribute->word(0) == 0x04030201);
  CHECK(attribute->word(1) == 0xbbaa);
  CHECK(attribute->word(2) == 0);
}

}  // namespace
}  // namespace cubinet
