// SPDX-License-Identifier: Apache-2.0
#include "cost_tables.hpp"

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

KernelWork work(CostClass cost_class, ComputeCapability device) {
  KernelWork made;
  made.cost_class = cost_class;
  made.device = device;
  made.multiprocessors = 132;
  made.tile_size_q = 16;
  made.longest_tokens = 1024;
  made.blocks = 132;
  made.bytes = 1e8;
  made.largest_block_bytes = 1e6;
  made.ring_bytes = 96 * 1024;
  return made;
}

TEST_CASE("waves of tiles cost their own unit, memory traffic microseconds, whatever the kernel is called") {
  const auto model = default_cost_model();
  CHECK_FALSE(model->cost(work(CostClass::tile_waves, {10, 0})).in_microseconds);
  CHECK(model->cost(work(CostClass::products, {9, 0})).in_microseconds);
  const KernelCost ours = model->cost(work(CostClass::memory_traffic, {9, 0}));
  CHECK(ours.in_microseconds);
  CHECK(ours.time > 0);
  for (const char* name : {"trtllm-gen", "attention_decode_swapped", "somebody_elses"}) {
    KernelWork named = work(CostClass::memory_traffic, {9, 0});
    named.implementation = name;
    CHECK(model->cost(named).time == ours.time);
  }
  CHECK(default_cost_model() == model);
}

TEST_CASE("a measured device has its own row, every other one the first") {
  CostTables tables = builtin_cost_tables();
  tables.traffic.push_back({{8, 0}, tables.traffic.front().costs});
  tables.traffic.back().costs.start += 999;
  tables.tiles.push_back({{12, 0}, tables.tiles.front().costs});
  tables.tiles.back().costs.main_loop = {100, 100, 100, 100, 100};
  const auto model = cost_model_of(tables);
  const auto time = [&](CostClass cost_class, ComputeCapability device) {
    return model->cost(work(cost_class, device)).time;
  };
  CHECK(time(CostClass::memory_traffic, {8, 0}) ==
        doctest::Approx(time(CostClass::memory_traffic, {9, 0}) + 999));
  CHECK(time(CostClass::memory_traffic, {8, 6}) == time(CostClass::memory_traffic, {9, 0}));
  CHECK(time(CostClass::tile_waves, {12, 0}) > time(CostClass::tile_waves, {10, 0}));
  CHECK(time(CostClass::tile_waves, {10, 3}) == time(CostClass::tile_waves, {10, 0}));
}

TEST_CASE("a larger tile never costs less, and every row of a table has its source") {
  const CostTables tables = builtin_cost_tables();
  REQUIRE_FALSE(tables.tiles.empty());
  REQUIRE_FALSE(tables.traffic.empty());
  for (const auto& row : tables.tiles) {
    for (std::size_t i = 1; i < kTileSizesQ.size(); ++i) {
      CHECK(row.costs.main_loop[i] < row.costs.main_loop[i - 1]);
      CHECK(row.costs.reduction[i] < row.costs.reduction[i - 1]);
    }
    CHECK_FALSE(std::string(row.costs.source).empty());
  }
  for (const auto& row : tables.traffic)
    CHECK_FALSE(std::string(row.costs.source).empty());
  REQUIRE_FALSE(tables.products.empty());
  for (const auto& row : tables.products)
    CHECK_FALSE(std::string(row.costs.source).empty());
}

}  // namespace
}  // namespace cubinet
