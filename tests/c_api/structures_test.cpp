// SPDX-License-Identifier: Apache-2.0
#include "structures.hpp"

#include "c_fixture.hpp"

using namespace cubinet;
using namespace cubinet::c_api;

namespace {

struct Grown {
  std::size_t struct_size;
  std::uint64_t first;
  std::uint64_t added;
};

// A structure of a later header.
struct Newer {
  cubinet_launch_config known = CUBINET_LAUNCH_CONFIG_INIT;
  std::uint64_t added = 0;
};

}  // namespace

template <>
inline constexpr std::size_t cubinet::c_api::kFirstSize<Grown> = 16;

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
  for (const std::size_t size :
       {std::size_t{0}, sizeof config - 1, std::size_t{5000}, std::size_t{1} << 40}) {
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

TEST_CASE("a newer output structure has zeros in the members that this library does not know") {
  struct {
    cubinet_counters known = CUBINET_COUNTERS_INIT;
    std::uint64_t added = 77;
  } newer;
  newer.known.struct_size = sizeof newer;
  cubinet_counters facts = CUBINET_COUNTERS_INIT;
  facts.compiled = 5;
  REQUIRE(write_structure(facts, &newer.known, "counters"));
  CHECK(newer.known.compiled == 5);
  CHECK(newer.added == 0);
}

TEST_CASE("a structure of an older version has the defaults of what it lacks") {
  // Grown has gained a member since its first version.
  Grown older{kFirstSize<Grown>, 3, 99};
  const auto read = read_structure(&older, Grown{sizeof(Grown), 1, 2}, "grown");
  REQUIRE(read);
  CHECK(read->first == 3);
  CHECK(read->added == 2);
  Grown facts{0, 4, 5};
  REQUIRE(write_structure(facts, &older, "grown"));
  CHECK(older.first == 4);
  CHECK(older.added == 99);
}

TEST_CASE("a reserved member has to be zero") {
  CHECK(check_reserved(0, "config.reserved"));
  CHECK(check_reserved(1, "config.reserved").error().code == ErrorCode::invalid_argument);
}

TEST_CASE("an unknown flag is named") {
  CHECK(check_flags(5, 7, "config.flags"));
  CHECK(check_flags(12, 7, "config.flags").error().message == "`config.flags` has the unknown bits 0x8");
}
