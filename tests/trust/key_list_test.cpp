// SPDX-License-Identifier: Apache-2.0
#include "key_list.hpp"

#include "signing.hpp"
#include "support/text.hpp"

using namespace cubinet;
using namespace cubinet::test;

namespace {

Result<std::vector<PublicKey>> keys_of(const std::string& list) {
  CUBINET_TRY_ASSIGN(const JsonValue document, parse_json("{\n\"keys\": " + list + "}"));
  CUBINET_TRY_ASSIGN(auto object, JsonObject::open(document, "it"));
  return read_keys(object, "keys");
}

std::string quoted(const PublicKey& key) {
  return "\"" + key.to_string() + "\"";
}

}  // namespace

TEST_CASE("a list of keys is read in its order") {
  const PublicKey one = new_key().public_key();
  const PublicKey two = new_key().public_key();
  CHECK(ok(keys_of("[" + quoted(one) + ", " + quoted(two) + "]")) == std::vector<PublicKey>{one, two});
}

TEST_CASE("what is no list of distinct keys is an error with its line") {
  const SecretKey key = new_key();
  const std::string one = quoted(key.public_key());
  const std::string again = quoted(renamed(key, {}).public_key());
  for (const std::string& list :
       {std::string("[]"), std::string("\"home\""), std::string("[5]"), std::string("[\"RWQ\"]"),
        "[" + one + ", " + one + "]", "[" + one + ", " + again + "]"}) {
    const auto keys = keys_of(list);
    CAPTURE(list);
    REQUIRE_FALSE(keys);
    CHECK(keys.error().code == ErrorCode::invalid_argument);
    CHECK(keys.error().native == 2);
  }
  std::string many = "[" + one;
  for (int i = 0; i < 64; ++i)
    many += ", " + quoted(new_key().public_key());
  CHECK(contains(keys_of(many + "]").error().message, "1 to 64"));
  CHECK_FALSE(keys_of("null"));
}
