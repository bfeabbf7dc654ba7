// SPDX-License-Identifier: Apache-2.0
#include "cost_tables.hpp"

#include <cubinet/kernel_table/kernel_row.hpp>

#include <doctest/doctest.h>

#include <string>

namespace cubinet {
namespace {

KernelWork work(std::string_view implementation, ComputeCapability device) {
  KernelWork made;
  made.implementation = implementation;
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

TEST_CASE("published kernels cost their own unit, templates and unknown kernels microseconds") {
  const auto model = default_cost_model();
  CHECK_FALSE(model->cost(work(kPublishedImplementation, {10, 0})).in_microseconds);
  const KernelCost ours = model->cost(work("attention_decode", {9, 0}));
  CHECK(ours.in_microseconds);
  CHECK(ours.time > 0);
  CHECK(model->cost(work("somebody_elses", {9, 0})).time == ours.time);
}

TEST_CASE("a measured device has its own row, every other one the first") {
  CostTables tables = builtin_cost_tables();
  tables.traffic.push_back({{8, 0}, tables.traffic.front().costs});
  tables.traffic.back().costs.start += 999;
  tables.tiles.push_back({{12, 0}, tables.tiles.front().costs});
  tables.tiles.back().costs.main_loop = {100, 100, 100, 100, 100};
  const auto model = cost_model_of(tables);
  const auto time = [&](std::string_view implementation, ComputeCapability device) {
    return model->cost(work(implementation, device)).time;
  };
  CHECK(time("attention_decode", {8, 0}) == doctest::Approx(time("attention_decode", {9, 0}) + 999));
  CHECK(time("attention_decode", {8, 6}) == time("attention_decode", {9, 0}));
  CHECK(time(kPublishedImplementation, {12, 0}) > time(kPublishedImplementation, {10, 0}));
  CHECK(time(kPublishedImplementation, {10, 3}) == time(kPublishedImplementation, {10, 0}));
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
}

}  // namespace
}  // namespace cubinet
