// SPDX-License-Identifier: Apache-2.0
#include "structures.hpp"

#include "c_fixture.hpp"

using namespace cubinet;
using namespace cubinet::c_api;

namespace {

// A structure of a later header.
struct Newer {
  cubinet_launch_config known = CUBINET_LAUNCH_CONFIG_INIT;
  std::uint64_t added = 0;
};

}  // namespace

TEST_CASE("a structure of this version is taken as it is") {
  cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
  config.grid[1] = 7;
  const cubinet_launch_config defaults = CUBINET_LAUNCH_CONFIG_INIT;
  const auto read = read_structure(&config, defaults, "config");
  REQUIRE(read);
  CHECK(read->grid[1] == 7);
}

TEST_CASE("a longer structure is taken if what is unknown is zero") {
  Newer newer;
  newer.known.struct_size = sizeof newer;
  const cubinet_launch_config defaults = CUBINET_LAUNCH_CONFIG_INIT;
  CHECK(read_structure(&newer.known, defaults, "config"));
  newer.added = 1;
  const auto refused = read_structure(&newer.known, defaults, "config");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find("`config` sets a member at byte") != std::string::npos);
}

TEST_CASE("a size of zero, a small and a huge one are invalid, and so is no structure") {
  cubinet_launch_config config = CUBINET_LAUNCH_CONFIG_INIT;
  const cubinet_launch_config defaults = CUBINET_LAUNCH_CONFIG_INIT;
  for (const std::size_t size : {std::size_t{0}, sizeof config - 1, std::size_t{1} << 40}) {
    config.struct_size = size;
    const auto read = read_structure(&config, defaults, "config");
    REQUIRE_FALSE(read);
    CHECK(read.error().code == ErrorCode::invalid_argument);
    CHECK(read.error().message.find("`config.struct_size` is " + std::to_string(size)) != std::string::npos);
  }
  CHECK(read_structure<cubinet_launch_config>(nullptr, defaults, "config").error().message ==
        "the argument `config` is NULL");
}

TEST_CASE("an output structure keeps the size that its caller set") {
  cubinet_counters facts = CUBINET_COUNTERS_INIT;
  facts.compiled = 5;
  cubinet_counters target = CUBINET_COUNTERS_INIT;
  REQUIRE(write_structure(facts, &target, "counters"));
  CHECK(target.compiled == 5);
  CHECK(target.struct_size == sizeof target);
  target.struct_size = 0;
  CHECK_FALSE(write_structure(facts, &target, "counters"));
}

TEST_CASE("an unknown flag is named") {
  CHECK(check_flags(5, 7, "config.flags"));
  CHECK(check_flags(12, 7, "config.flags").error().message == "`config.flags` has the unknown bits 0x8");
}
