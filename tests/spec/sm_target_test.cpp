// SPDX-License-Identifier: Apache-2.0
#include <cubinet/spec/sm_target.hpp>

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

namespace cubinet {
namespace {

SmTarget target(std::string_view name) {
  const auto parsed = SmTarget::parse(name);
  REQUIRE_MESSAGE(parsed, name);
  return *parsed;
}

ComputeCapability device(std::string_view name) {
  const auto parsed = ComputeCapability::parse(name);
  REQUIRE(parsed);
  return *parsed;
}

const std::vector<std::string> kDevices = {"7.5",  "8.0",  "8.6",  "8.7",  "8.8",  "8.9", "9.0",
                                           "10.0", "10.3", "10.7", "11.0", "12.0", "12.1"};

// The published table: for each target the devices that load its cubin. It is written out, not
// computed.
const std::map<std::string, std::set<std::string>> kLoads = {
    {"sm_75", {"7.5"}},
    {"sm_80", {"8.0", "8.6", "8.9"}},
    {"sm_86", {"8.6", "8.9"}},
    {"sm_87", {"8.7"}},
    {"sm_88", {"8.8"}},
    {"sm_89", {"8.9"}},
    {"sm_90", {"9.0"}},
    {"sm_90a", {"9.0"}},
    {"sm_100", {"10.0", "10.3", "10.7"}},
    {"sm_100f", {"10.0", "10.3", "10.7"}},
    {"sm_100a", {"10.0"}},
    {"sm_103", {"10.3", "10.7"}},
    {"sm_103f", {"10.3", "10.7"}},
    {"sm_103a", {"10.3"}},
    {"sm_107", {"10.7"}},
    {"sm_107f", {"10.7"}},
    {"sm_107a", {"10.7"}},
    {"sm_110", {"11.0"}},
    {"sm_110f", {"11.0"}},
    {"sm_110a", {"11.0"}},
    {"sm_120", {"12.0", "12.1"}},
    {"sm_120f", {"12.0", "12.1"}},
    {"sm_120a", {"12.0"}},
    {"sm_121", {"12.1"}},
    {"sm_121f", {"12.1"}},
    {"sm_121a", {"12.1"}},
};

TEST_CASE("every pair of target and device agrees with the published table") {
  CHECK(known_targets().size() == kLoads.size());
  for (const SmTarget known : known_targets()) {
    REQUIRE(kLoads.count(known.to_string()) == 1);
    for (const std::string& name : kDevices) {
      INFO(known.to_string(), " on ", name);
      CHECK(runs_on(known, device(name)) == (kLoads.at(known.to_string()).count(name) == 1));
    }
  }
}

TEST_CASE("every known target is parsed from its own name, with and without the prefix") {
  for (const SmTarget known : known_targets()) {
    CHECK(target(known.to_string()) == known);
    CHECK(target(known.to_string().substr(3)) == known);
  }
}

TEST_CASE("what is no target is refused with the reason and the known ones") {
  for (const char* name :
       {"sm_101a", "sm_101", "sm_90f", "sm_80a", "sm_83", "sm_", "", "sm_9", "sm_1000", "90b", "sm_90aa",
        "sm_090", "sm_090a", "090a", "compute_90", "SM_90", "sm_-90", "sm_ 90"}) {
    const auto parsed = SmTarget::parse(name);
    REQUIRE_FALSE_MESSAGE(parsed, name);
    CHECK(parsed.error().code == ErrorCode::invalid_argument);
    CHECK(parsed.error().remedy.find("sm_100f") != std::string::npos);
  }
  CHECK(SmTarget::parse("sm_101a").error().message.find("sm_110") != std::string::npos);
}

TEST_CASE("a capability is written in three ways") {
  CHECK(device("9.0") == device("90"));
  CHECK(device("sm_103") == device("10.3"));
  CHECK(device("12.1").to_string() == "12.1");
  for (const char* name : {"", "9", "9.", ".0", "9.0.0", "nine", "9.00", "09.0", "sm_090", "07"}) {
    CHECK_FALSE_MESSAGE(ComputeCapability::parse(name), name);
  }
}

TEST_CASE("a device that a person names has to be known, and the error lists the known ones") {
  for (const SmTarget target : known_targets()) {
    const std::string name = target.capability().to_string();
    CHECK(*ComputeCapability::parse_known(name) == target.capability());
  }
  for (const char* name : {"sm_99", "9.9", "8.1", "13.0", "10.1", "hopper"}) {
    CAPTURE(name);
    const auto refused = ComputeCapability::parse_known(name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::invalid_argument);
  }
  CHECK(ComputeCapability::parse_known("sm_99").error().message ==
        "'sm_99' is no known device: no such compute capability is known");
  CHECK(ComputeCapability::parse_known("9.9").error().remedy.starts_with("known devices: 7.5 8.0 8.6"));
  CHECK(ComputeCapability::parse("13.0"));  // a driver may report it
}

std::string order_for(std::string_view name) {
  std::string order;
  for (const SmTarget candidate : targets_for(device(name)))
    order += candidate.to_string() + " ";
  return order;
}

TEST_CASE("the best target comes first, specific then family then baseline, the nearest minor first") {
  CHECK(order_for("8.9") == "sm_89 sm_86 sm_80 ");
  CHECK(order_for("8.7") == "sm_87 ");
  CHECK(order_for("9.0") == "sm_90a sm_90 ");
  CHECK(order_for("10.3") == "sm_103a sm_103f sm_100f sm_103 sm_100 ");
  CHECK(order_for("12.1") == "sm_121a sm_121f sm_120f sm_121 sm_120 ");
  CHECK(order_for("13.0").empty());
}

TEST_CASE("a device newer than the table runs the baseline of its major and no family") {
  CHECK(runs_on(target("sm_120"), {12, 5}));
  CHECK_FALSE(runs_on(target("sm_120f"), {12, 5}));
  CHECK_FALSE(runs_on(target("sm_90"), {13, 0}));
}

TEST_CASE("PTX of a baseline runs on all later devices, of a family on its members, of a specific on one") {
  CHECK(ptx_runs_on(target("sm_80"), device("12.1")));
  CHECK_FALSE(ptx_runs_on(target("sm_90"), device("8.9")));
  CHECK(ptx_runs_on(target("sm_100f"), device("10.3")));
  CHECK_FALSE(ptx_runs_on(target("sm_100f"), device("11.0")));
  CHECK_FALSE(ptx_runs_on(target("sm_90a"), device("10.0")));
}

TEST_CASE("the best PTX for a device is what was made for it, then its family, then the latest baseline") {
  std::string order;
  for (const SmTarget candidate : ptx_targets_for(device("10.3")))
    order += candidate.compute_name() + " ";
  CHECK(order ==
        "compute_103a compute_103f compute_100f compute_103 compute_100 compute_90 compute_89 compute_88 "
        "compute_87 compute_86 compute_80 compute_75 ");
  CHECK(ptx_targets_for({13, 0}).front() == target("sm_121"));
}

TEST_CASE("a target that does not run on a device is refused with a rule, and one that runs with nothing") {
  for (const std::string& name : kDevices) {
    for (const SmTarget candidate : known_targets()) {
      const std::string why = why_not_on(candidate, device(name));
      CHECK(why.empty() == runs_on(candidate, device(name)));
      if (!why.empty()) CHECK(why.find(candidate.to_string()) == 0);
    }
  }
  CHECK(why_ptx_not_on(target("sm_90"), device("8.0")) ==
        "compute_90 PTX needs 9.0 or later, and the device is 8.0");
  CHECK(why_ptx_not_on(target("sm_90a"), device("10.0")) ==
        "compute_90a PTX is specific to 9.0, and the device is 10.0");
  CHECK(why_ptx_not_on(target("sm_100f"), device("12.0"))
            .find("compute_100f PTX needs a member of the family") == 0);
  CHECK(why_ptx_not_on(target("sm_80"), device("9.0")).empty());
  CHECK(why_not_on(target("sm_103a"), device("10.0")) ==
        "sm_103a code is specific to 10.3, and the device is 10.0");
  CHECK(why_not_on(target("sm_100f"), device("12.0")) ==
        "sm_100f code runs on devices of compute capability 10.x only, and the device is 12.0");
  CHECK(why_not_on(target("sm_103f"), device("10.0")) ==
        "sm_103f code needs 10.3 or a later minor, and the device is 10.0");
  CHECK(why_not_on(target("sm_86"), device("8.7")).find("match exactly") != std::string::npos);
}

TEST_CASE("names for the compiler carry the suffix") {
  CHECK(target("sm_100f").compute_name() == "compute_100f");
  CHECK(target("sm_90").compute_name() == "compute_90");
}

TEST_CASE("shared memory limits are known for every device of the table") {
  for (const std::string& name : kDevices)
    CHECK(maximum_shared_bytes_per_block(device(name)) >= 64 * 1024);
  CHECK(maximum_shared_bytes_per_block(device("9.0")) == 232448);
  CHECK(maximum_shared_bytes_per_block(device("8.6")) == 101376);
  CHECK(maximum_shared_bytes_per_block({13, 0}) == 0);
}

}  // namespace
}  // namespace cubinet
