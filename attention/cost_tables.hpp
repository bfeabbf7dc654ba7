// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published/tile_costs.hpp"
#include "templates/decode/traffic_costs.hpp"
#include "templates/prefill/prefill_costs.hpp"

#include <cubinet/attention/cost_model.hpp>

#include <memory>
#include <vector>

namespace cubinet {

// The constants measured on one device.
template <class Costs>
struct DeviceCosts {
  ComputeCapability device;
  Costs costs;
};

// All constants of the cost model. A measurement replaces or adds a row. The first row of a table
// serves the devices without one; each table has at least one row.
struct CostTables {
  std::vector<DeviceCosts<TileCosts>> tiles;        // of CostClass::tile_waves
  std::vector<DeviceCosts<TrafficCosts>> traffic;   // of CostClass::memory_traffic
  std::vector<DeviceCosts<ProductCosts>> products;  // of CostClass::products
};

CostTables builtin_cost_tables();
std::shared_ptr<const CostModel> cost_model_of(CostTables tables);

}  // namespace cubinet
