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

  // Parses a policy in which K1 and K2 denote the keys.
  Result<PolicyFile> parse(const std::string& text) const {
    std::string made;  // a key's own text may contain either name
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
  for (const char* elsewhere : {"/srv/kernels2/x", "/srv", "", "/srv/kernelsx", "https://mirror/kernel"})
    CHECK(file.find(elsewhere) == nullptr);
  // A folder contains itself. A file with a longer name is a different one.
  CHECK(file.find("/srv/kernels") == file.find("/srv/kernels/x"));
  CHECK(file.find("https://mirror/kernels") == file.find("https://mirror/kernels/x"));
  CHECK(file.find("/srv/kernels/old.bundle2/x/")->threshold == 2);
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

TEST_CASE("a place is taken in its canonical form alone") {
  const PolicyText fixture;
  const auto parse = [&](const std::string& place) {
    return fixture.parse(R"({"stores":[{"place":")" + place + R"("}]})");
  };
  for (const char* good :
       {"/", "/srv/k", "/srv/k/", "/a:/b", "https://host/", "https://host", "https://h:8443/k/",
        "http://h/a%20b", "oci://host/", "oci://host/team/", "s3://bucket/", "s3://bucket/a b"}) {
    CAPTURE(good);
    ok(parse(good));
  }
  for (const char* bad : {"HTTPS://host/k",
                          "https://HOST/k/",
                          "https://host:443/k/",
                          "http://h:080/k",
                          "https://host//k",
                          "https://h/k//",
                          "https://host/./k/",
                          "https://h/a/../k/",
                          "https://h/%6bernels/",
                          "https://h/%c3%a9",
                          "https://u@h/",
                          "https://h./k/",
                          "https://127.1/k/",
                          "https://[0::1]/k/",
                          "oci://host",
                          "oci://host:80/k",
                          "s3://bucket//k/",
                          "https://",
                          "s3://",
                          "file:///srv/k/",
                          "ftp://h/",
                          "https://h/k#stable",
                          "oci://host/k:stable",
                          "/x://y"}) {
    CAPTURE(bad);
    const auto file = parse(bad);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == ErrorCode::invalid_argument);
  }
  CHECK(contains(parse("https://HOST:443/k/").error().message, "write 'https://host/k/'"));
}

TEST_CASE("an exact place counts before the folder of the same name") {
  const PolicyText fixture;
  const PolicyFile file = ok(fixture.parse(R"({"stores":[
    {"place":"https://h/k/","require_signed":false}, {"place":"https://h/k","trusted_keys":[K1]}]})"));
  CHECK(file.find("https://h/k")->threshold == 1);
  CHECK(file.find("https://h/k/x")->threshold == 0);
}
