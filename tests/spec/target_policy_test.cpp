// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/target_policy.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace cubinet;

namespace {

constexpr SmTarget kBaseline{10, 3, TargetKind::baseline};
constexpr SmTarget kSpecific{10, 3, TargetKind::specific};
constexpr SmTarget kFamily{10, 3, TargetKind::family};
constexpr SmTarget kOlderFamily{10, 0, TargetKind::family};
constexpr ComputeCapability kDevice{10, 3};

}  // namespace

TEST_CASE("the default policy allows every target and changes no order") {
  const TargetPolicy policy;
  for (const SmTarget device : known_targets()) {
    CHECK(policy.allows(device));
    CHECK_FALSE(policy.refusal(device).has_value());
    CHECK(policy.targets(device.capability()) == targets_for(device.capability()));
    CHECK(policy.ptx_targets(device.capability()) == ptx_targets_for(device.capability()));
  }
  CHECK(policy.to_string().empty());
  CHECK(check(policy).has_value());
}

TEST_CASE("a preference for families puts them first and keeps every other order") {
  TargetPolicy policy;
  policy.prefers_family = true;
  for (const SmTarget known : known_targets()) {
    for (const bool ptx : {false, true}) {
      const auto device = known.capability();
      const auto ordered = ptx ? policy.ptx_targets(device) : policy.targets(device);
      auto plain = ptx ? ptx_targets_for(device) : targets_for(device);
      REQUIRE(ordered.size() == plain.size());
      std::stable_partition(plain.begin(), plain.end(),
                            [](SmTarget target) { return target.kind == TargetKind::family; });
      CHECK(ordered == plain);
    }
  }
  CHECK(policy.targets(kDevice).front() == kFamily);
  CHECK(targets_for(kDevice).front() == kSpecific);
}

TEST_CASE("a forbidden target is left out of cubins and of PTX, and the refusal says why") {
  for (const SmTarget forbidden : targets_for(kDevice)) {
    TargetPolicy policy;
    policy.forbidden = {forbidden};
    const auto left = policy.targets(kDevice);
    CHECK(left.size() + 1 == targets_for(kDevice).size());
    CHECK(std::find(left.begin(), left.end(), forbidden) == left.end());
    const auto ptx = policy.ptx_targets(kDevice);
    CHECK(std::find(ptx.begin(), ptx.end(), forbidden) == ptx.end());
    CHECK(policy.refusal(forbidden) == forbidden.to_string() + " is forbidden");
  }
}

TEST_CASE("a pinned target is the only one, where it runs on the device") {
  TargetPolicy policy;
  policy.pinned = kOlderFamily;
  CHECK(policy.targets(kDevice) == std::vector<SmTarget>{kOlderFamily});
  CHECK(policy.refusal(kSpecific) == "sm_100f is pinned");
  policy.pinned = SmTarget{9, 0, TargetKind::specific};
  CHECK(policy.targets(kDevice).empty());
}

TEST_CASE("a policy that leaves no target is refused, and says what it wants") {
  TargetPolicy policy;
  policy.prefers_family = true;
  policy.pinned = kBaseline;
  policy.forbidden = {kSpecific, kFamily};
  CHECK(check(policy).has_value());
  CHECK(policy.to_string() == "prefers family targets, forbids sm_103a, forbids sm_103f, pins sm_103");
  policy.forbidden.push_back(kBaseline);
  const auto refused = check(policy);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(refused.error().message.find("sm_103 is both") != std::string::npos);
}
