// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published/tile_costs.hpp"
#include "templates/traffic_costs.hpp"

#include <cubinet/attention/cost_model.hpp>

#include <memory>
#include <vector>

namespace cubinet {

// What was measured on one device.
template <class Costs>
struct DeviceCosts {
  ComputeCapability device;
  Costs costs;
};

// All constants of the cost model: a measurement replaces a row, or adds one. The first row of a table serves
// the devices that have none; each table has at least one.
struct CostTables {
  std::vector<DeviceCosts<TileCosts>> tiles;       // of published kernels
  std::vector<DeviceCosts<TrafficCosts>> traffic;  // of our templates, and of whoever is not known by name
};

CostTables builtin_cost_tables();
std::shared_ptr<const CostModel> cost_model_of(CostTables tables);

}  // namespace cubinet
