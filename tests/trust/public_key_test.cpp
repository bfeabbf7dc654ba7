// SPDX-License-Identifier: Apache-2.0
#include "minisign_tool.hpp"
#include "support/ok.hpp"
#include "support/temp_dir.hpp"
#include "support/text.hpp"

#include <cubinet/base/base64.hpp>
#include <cubinet/trust/public_key.hpp>

using namespace cubinet;
using namespace cubinet::test;

namespace {

constexpr std::string_view kKey = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";

}  // namespace

TEST_CASE("a public key is read from one line, from its file, and written back") {
  const PublicKey key = ok(PublicKey::parse(kKey));
  CHECK(key.id() == "E7620F1842B4E81F");
  CHECK(key.to_string() == kKey);
  CHECK(ok(PublicKey::parse(key.to_file())).to_file() == key.to_file());
  CHECK(ok(PublicKey::parse("untrusted comment: anything\r\n" + std::string(kKey) + "\r\n")) == key);
}

TEST_CASE("a key that minisign makes is read, with the id that it prints") {
  if (!has_minisign()) return;
  const TempDir folder;
  const auto file = folder / "key.pub";
  REQUIRE(minisign({"-G", "-W", "-p", file, "-s", folder / "key"}));
  const std::string text = text_of(file);
  const PublicKey key = ok(PublicKey::parse(text));
  std::string id = key.id();
  id.erase(0, id.find_first_not_of('0'));
  CHECK(contains(text, id + "\n"));
}

TEST_CASE("what is no public key, or not quite, is refused") {
  const std::string good(kKey);
  const std::string file = "untrusted comment: x\n" + good + "\n";
  for (std::size_t length = 0; length < file.size(); ++length)
    CHECK_FALSE(PublicKey::parse(std::string_view(file).substr(0, length)));
  CHECK(PublicKey::parse(file));
  for (const std::string& text :
       {good + "\n", " " + good, good + good, file + "\n", file + good + "\n",
        "untrusted comment: " + std::string(2000, 'x') + "\n" + good + "\n", "comment: x\n" + good + "\n"}) {
    CHECK_FALSE(PublicKey::parse(text));
  }
  for (const char* prefix : {"Ec", "ED", "\0\0"}) {
    Bytes bytes = ok(from_base64(kKey));
    bytes[0] = static_cast<std::byte>(prefix[0]);
    bytes[1] = static_cast<std::byte>(prefix[1]);
    CHECK_FALSE(PublicKey::parse(to_base64(bytes)));
  }
  const auto error = PublicKey::parse("RW\x1b[31m").error();
  CHECK(error.code == ErrorCode::invalid_argument);
  CHECK(contains(error.message, "\\x1b"));
}

TEST_CASE("keys under which anybody can sign are refused where they are read") {
  Bytes bytes = ok(from_base64(kKey));
  std::fill(bytes.begin() + 10, bytes.end(), std::byte{0});
  const auto zero = PublicKey::parse(to_base64(bytes));
  REQUIRE_FALSE(zero);
  CHECK(contains(zero.error().message, "small order"));
  std::fill(bytes.begin() + 10, bytes.end(), std::byte{0xff});
  CHECK(contains(PublicKey::parse(to_base64(bytes)).error().message, "canonical"));
}

TEST_CASE("a key is its point, and its id a label") {
  const PublicKey key = ok(PublicKey::parse(kKey));
  CHECK(ok(PublicKey::make({}, key.point())) == key);
  auto other = key.point();
  other[0] ^= std::byte{1};
  CHECK_FALSE(ok(PublicKey::make(key.id_bytes(), other)) == key);
}
