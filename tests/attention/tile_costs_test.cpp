// SPDX-License-Identifier: Apache-2.0
#include "published/tile_costs.hpp"

#include <doctest/doctest.h>

namespace cubinet {
namespace {

constexpr TileCosts kCosts = {{5, 4, 3, 2, 1}, {50, 40, 30, 20, 10}, 2, "made up"};

KernelWork work(std::uint32_t tile, double blocks) {
  KernelWork made;
  made.multiprocessors = 100;
  made.tile_size_q = tile;
  made.splits = 4;
  made.longest_tokens = 512;
  made.blocks = blocks;
  return made;
}

TEST_CASE("the modelled time is loop and reduction times waves") {
  CHECK(tile_time(kCosts, work(64, 100)) == doctest::Approx(4 * 512 + 40 * 2 * 4));
  CHECK(tile_time(kCosts, work(8, 100)) == doctest::Approx(512 + 10 * 2 * 4));
  CHECK(tile_time(kCosts, work(8, 201)) == doctest::Approx(3 * (512 + 10 * 2 * 4)));
}

TEST_CASE("a tile of another size costs what the largest does") {
  CHECK(tile_time(kCosts, work(48, 1)) == tile_time(kCosts, work(128, 1)));
}

TEST_CASE("only the five sizes of tile have an index") {
  CHECK(tile_index(128) == 0);
  CHECK(tile_index(8) == 4);
  CHECK(tile_index(12) == std::nullopt);
}

}  // namespace
}  // namespace cubinet
