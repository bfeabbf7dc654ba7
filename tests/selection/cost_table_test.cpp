// SPDX-License-Identifier: Apache-2.0
#include <cubinet/selection/cost_table.hpp>

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

TEST_CASE("the modelled time is loop and reduction times waves") {
  const CostTable& costs = cost_table_for({10, 0});
  CHECK(modelled_time(costs, 64, 512, 4, 1) == doctest::Approx(1474.56));
  CHECK(modelled_time(costs, 8, 512, 4, 1) == doctest::Approx(1024.0));
  CHECK(modelled_time(costs, 8, 512, 4, 3) == doctest::Approx(3072.0));
}

TEST_CASE("a larger tile never costs less, and every device has a table with its source") {
  for (const ComputeCapability device : {ComputeCapability{8, 0}, {9, 0}, {10, 0}, {10, 3}, {12, 1}}) {
    const CostTable& costs = cost_table_for(device);
    for (std::size_t i = 1; i < kTileSizesQ.size(); ++i) {
      CHECK(costs.main_loop[i] < costs.main_loop[i - 1]);
      CHECK(costs.reduction[i] < costs.reduction[i - 1]);
    }
    CHECK_FALSE(std::string(costs.source).empty());
  }
}

TEST_CASE("only the five sizes of tile have an index") {
  CHECK(tile_index(128) == 0);
  CHECK(tile_index(8) == 4);
  CHECK(tile_index(12) == std::nullopt);
}

}  // namespace
}  // namespace cubinet
