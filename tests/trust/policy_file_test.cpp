// SPDX-License-Identifier: Apache-2.0
#include "policy_file.hpp"

#include "signing.hpp"
#include "support/text.hpp"

using namespace cubinet;
using namespace cubinet::test;

namespace {

struct PolicyText {
  PublicKey one = new_key().public_key();
  PublicKey two = new_key().public_key();
  std::optional<KeySet> home_keys;

  // K1 and K2 stand for the keys.
  Result<PolicyFile> parse(const std::string& text) const {
    std::string made;  // a key's own text may hold either name
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::string name = text.substr(at, 2);
      if (name != "K1" && name != "K2") {
        made += text[at];
        continue;
      }
      made += "\"" + (name == "K1" ? one : two).to_string() + "\"";
      ++at;
    }
    return parse_policy(made, "policy.json", home_keys, "/home/seen");
  }
  Result<PolicyFile> parse_default(const std::string& members) const {
    return parse("{\"default\": {" + members + "}}");
  }
};

}  // namespace

TEST_CASE("a policy says for each place who has to sign what comes from it") {
  const PolicyText fixture;
  const PolicyFile file = ok(fixture.parse(R"({
    "stores": [
      {"place": "/srv/kernels/", "trusted_keys": [K1, K2], "threshold": 2, "minimum_version": 7},
      {"place": "/srv/kernels/old.bundle", "trusted_keys": [K1], "refuse_older": false},
      {"place": "https://mirror/kernels/", "trusted_keys": [K2], "local_only": true}
    ],
    "default": {"require_signed": false}
  })"));
  const TrustPolicy* place = file.find("/srv/kernels/new.bundle");
  REQUIRE(place != nullptr);
  CHECK(place->trusted_keys == std::vector<PublicKey>{fixture.one, fixture.two});
  CHECK(place->threshold == 2);
  CHECK(place->minimum_version == 7);
  CHECK(place->refuse_older);
  CHECK_FALSE(place->local_only);
  CHECK(place->versions_seen == "/home/seen");
  CHECK(place->origin == "policy.json, line 3");
  place = file.find("/srv/kernels/old.bundle");
  REQUIRE(place != nullptr);
  CHECK(place->threshold == 1);
  CHECK_FALSE(place->refuse_older);
  REQUIRE(file.find("https://mirror/kernels/x") != nullptr);
  CHECK(file.find("https://mirror/kernels/x")->local_only);
  for (const char* elsewhere :
       {"/srv/kernels", "/srv/kernels2/x", "/srv", "", "/srv/kernels/old.bundle2/x/"}) {
    const bool within = std::string_view(elsewhere).starts_with("/srv/kernels/");
    CHECK((file.find(elsewhere) != nullptr) == within);
  }
  REQUIRE(file.fallback);
  CHECK(file.fallback->threshold == 0);
}

TEST_CASE("a line without a word on signatures wants them") {
  const PolicyText fixture;
  const auto file = ok(fixture.parse_default(""));
  REQUIRE(file.fallback);
  CHECK(file.fallback->threshold == 1);
  CHECK(file.fallback->trusted_keys.empty());
  CHECK(ok(fixture.parse_default("\"require_signed\": true")).fallback->threshold == 1);
  CHECK_FALSE(ok(fixture.parse("{}")).fallback);
}

TEST_CASE("the key set of the home stands in for a list of keys") {
  PolicyText fixture;
  const auto without = fixture.parse_default("\"trusted_keys\": \"home\"");
  REQUIRE_FALSE(without);
  CHECK(without.error().code == ErrorCode::untrusted);
  fixture.home_keys = KeySet{3, 2, {fixture.one, fixture.two}};
  const auto file = ok(fixture.parse_default("\"trusted_keys\": \"home\""));
  CHECK(file.fallback->trusted_keys == fixture.home_keys->keys);
  CHECK(file.fallback->threshold == 2);
  CHECK_FALSE(fixture.parse_default("\"trusted_keys\": \"home\", \"threshold\": 1"));
}

TEST_CASE("what a policy could be misread by is an error that names its line") {
  const PolicyText fixture;
  for (const char* members :
       {"\"trusted_keys\": []", "\"trusted_keys\": [K1, K1]", "\"trusted_keys\": \"elsewhere\"",
        "\"trusted_keys\": K1", "\"trusted_keys\": [K1], \"threshold\": 0",
        "\"trusted_keys\": [K1], \"threshold\": 2", "\"trusted_keys\": [K1], \"threshold\": -1",
        "\"trusted_keys\": [K1], \"threshold\": 4294967297",
        "\"trusted_keys\": [K1], \"require_signed\": false", "\"threshold\": 1", "\"require_signed\": \"no\"",
        "\"trusted_key\": [K1]", "\"minimum_version\": -1", "\"minimum_version\": 1.5", "\"refuse_older\": 1",
        "\"trusted_keys\": [K1], \"trusted_keys\": [K2]", "\"place\": \"/x\""}) {
    CAPTURE(members);
    const auto file = fixture.parse_default(std::string("\n") + members);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == ErrorCode::invalid_argument);
    CHECK(contains(file.error().message, "'policy.json', line "));
  }
  for (const char* text :
       {"", "[]", "{\"store\": []}", "{\"stores\": {}}", "{\"stores\": [5]}", "{\"stores\": [{}]}",
        "{\"stores\": [{\"place\": \"relative\"}]}", "{\"stores\": [{\"place\": \"\"}]}",
        "{\"stores\": [{\"place\": \"/a/../b\"}]}", "{\"stores\": [{\"place\": \"/a//b\"}]}",
        "{\"stores\": [{\"place\": \"/a\"}, {\"place\": \"/a\"}]}", "{\"default\": true}", "{} {}"}) {
    CAPTURE(text);
    CHECK(fixture.parse(text).error().code == ErrorCode::invalid_argument);
  }
}
