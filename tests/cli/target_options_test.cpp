// SPDX-License-Identifier: Apache-2.0
#include "target_options.hpp"

#include <doctest/doctest.h>

using namespace cubinet;
using namespace cubinet::cli;

TEST_CASE("target options become a policy, and an unknown or contradictory one is refused") {
  TargetOptions options;
  CHECK(*parse_target_policy(options) == TargetPolicy{});
  options.prefer = "family";
  options.forbid = {"sm_90a,sm_100f", "sm_103a"};
  const auto policy = parse_target_policy(options);
  REQUIRE(policy);
  CHECK(policy->prefers_family);
  CHECK(policy->forbidden.size() == 3);
  options.pin = "sm_90a";
  CHECK(parse_target_policy(options).error().message.find("both pinned and forbidden") != std::string::npos);
  options.pin = "sm_101a";
  CHECK(parse_target_policy(options).error().code == ErrorCode::invalid_argument);
}
