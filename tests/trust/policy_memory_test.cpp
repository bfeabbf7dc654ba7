// SPDX-License-Identifier: Apache-2.0
#include "policy_file.hpp"
#include "support/failing_allocations.hpp"

#include <cubinet/base/text.hpp>

using namespace cubinet;
using namespace cubinet::test;

TEST_CASE("memory that is exhausted anywhere in a policy is an exception and no end") {
  constexpr std::string_view kPolicy = R"({
    "stores": [
      {"place": "/srv/kernels/", "require_signed": false, "minimum_version": 7},
      {"place": "https://mirror.example/kernels/", "local_only": true}
    ],
    "default": {"require_signed": false}
  })";
  for (const std::string& text : {std::string(kPolicy), std::string(kPolicy.substr(0, 300))}) {
    const auto failed = fail_each_allocation(
        1, [] { return 0; },
        [&](int) { static_cast<void>(parse_policy(text, "policy.json", std::nullopt, "/home/seen")); });
    CHECK(failed > 20);
  }
}
