// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"
#include "support/temp_dir.hpp"

#include <cubinet/session/server_policy.hpp>

#include <doctest/doctest.h>

using namespace cubinet;
using test::ok;

TEST_CASE("a place that is local only is contacted only if it is on this machine") {
  const test::TempDir folder;
  test::write_file(folder / "policy.json", as_bytes(R"({"default":{"local_only":true}})"));
  SessionOptions options;
  options.policy_file = (folder / "policy.json").string();
  CHECK(ok(policy_to_contact(options, ok(ServerReference::parse("/srv/kernels"))))->local_only);
  const auto reference = ok(ServerReference::parse("https://host/kernels"));
  CHECK(policy_to_contact(options, reference).error().code == ErrorCode::untrusted);
  CHECK(ok(policy_of(options, reference))->local_only);
  CHECK(policy_of_place(options, "gopher://host").error().code == ErrorCode::invalid_argument);
}

TEST_CASE("without a policy file nothing is said about a server") {
  CHECK_FALSE(ok(policy_of_place({}, "https://host/kernels")));
}
