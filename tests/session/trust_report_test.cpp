// SPDX-License-Identifier: Apache-2.0
#include "served_channel.hpp"

#include <cubinet/session/trust_report.hpp>

using namespace cubinet;
using test::ok;

TEST_CASE("a report names the policy, and says so if there is none or no signature is required") {
  const test::ServedChannel served;
  const std::string file = served.bundle(7);
  CHECK(to_text(TrustReport::of(*ok(Bundle::open(file)))) == "no policy: nothing says who made it");
  TrustPolicy policy;
  policy.threshold = 0;
  policy.origin = "policy\n.json, line 1";
  const auto bundle = ok(Bundle::open(file, nullptr, {}, policy));
  CHECK(to_text(TrustReport::of(*bundle)) == "not signed, which policy\\x0a.json, line 1 allows");
}

TEST_CASE("a report names the keys that have signed and their comments") {
  const test::ServedChannel served;
  const SecretKey key = ok(SecretKey::generate());
  const std::string file = served.bundle(7, &key, "made\tby us");
  TrustPolicy policy;
  policy.trusted_keys = {key.public_key()};
  policy.origin = "policy.json, line 1";
  const TrustReport report = TrustReport::of(*ok(Bundle::open(file, nullptr, {}, policy)));
  CHECK(to_text(report) ==
        "signed by " + key.public_key().id() + " (made by us), 1 key wanted by policy.json, line 1");
}

TEST_CASE("of the stores only bundles have a report") {
  const test::ServedChannel served;
  CHECK(trust_of(ok(Bundle::open(served.bundle(7)))));
  CHECK_FALSE(trust_of(ok(Home::open({.path = (served.folder / "home").string()}))));
}
