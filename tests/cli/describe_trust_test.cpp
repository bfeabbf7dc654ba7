// SPDX-License-Identifier: Apache-2.0
#include "describe_trust.hpp"

#include "home_fixture.hpp"
#include "support/ok.hpp"

using namespace cubinet;
using namespace cubinet::cli;
using namespace cubinet::test;

TEST_CASE(
    "a bundle without a policy is said to have none, and one that need not be signed is said to be so") {
  const Sandbox sandbox;
  REQUIRE(create_bundle(sandbox.path("b"), three_cubins(), {}));
  auto bundle = ok(Bundle::open(sandbox.path("b")));
  CHECK(trust_text(*bundle) == "no policy: nothing says who made it");
  CHECK(describe_trust(*bundle).is_null());
  TrustPolicy policy;
  policy.threshold = 0;
  policy.origin = "policy\n.json, line 1";
  bundle = ok(Bundle::open(sandbox.path("b"), nullptr, {}, policy));
  CHECK(trust_text(*bundle) == "not signed, which policy\\x0a.json, line 1 allows");
  CHECK(describe_trust(*bundle)["threshold"] == 0);
  CHECK(describe_trust(*bundle)["signers"].empty());
}
