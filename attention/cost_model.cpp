// SPDX-License-Identifier: Apache-2.0
#include "cost_tables.hpp"

namespace cubinet {
namespace {

// Published with the selection rules of FlashInfer's pull request 2265 (January 2026), measured on
// B200 with 148 SMs. The authors publish no measurements. The values are the default of that
// policy.
constexpr TileCosts kB200 = {
    {2.2, 1.68, 1.48, 1.2, 1.0}, {1.32, 1.2, 1.08, 1.03, 1.0}, 128.0, "FlashInfer 2265, B200"};

// 132 SMs, 4.4 TB/s read by a streaming kernel. The ratios hold on another device if its memory
// bandwidth per SM is similar. The choice between splits needs only the ratios.
constexpr TrafficCosts kH200 = {
    33.3e3,
    {70e3, 13.5e3},
    {{{{{38e3, 6.2e3}, {26e3, 4.6e3}, {15.5e3, 2.4e3}}},
      {{{55e3, 10e3}, {37e3, 6.1e3}, {21.5e3, 3.4e3}}},
      {{{48e3, 8.25e3}, {33e3, 8.25e3}, {33e3, 8.25e3}}}}},
    {{{{{29e3, 3.1e3}, {24.5e3, 2.6e3}, {21e3, 2.1e3}, {16e3, 1.8e3}}},
      {{{31e3, 3.7e3}, {29.3e3, 3.5e3}, {25.5e3, 3e3}, {19e3, 2.35e3}}}}},
    1.2,
    0.04,
    0.15,
    1.1,
    3.6,
    0.025,
    1.5,
    0.6,
    8.0,
    2.2,
    {4.5, 7},
    "measured on an H200: 71 problems, 500 kernels and divisions (docs/kernels.md)"};

template <class Costs>
const Costs& costs_for(const std::vector<DeviceCosts<Costs>>& table, ComputeCapability device) {
  for (const DeviceCosts<Costs>& row : table) {
    if (row.device == device) return row.costs;
  }
  return table.front().costs;
}

class TabledCostModel final : public CostModel {
 public:
  explicit TabledCostModel(CostTables tables) : tables_(std::move(tables)) {}

  KernelCost cost(const KernelWork& work) const override {
    if (work.cost_class == CostClass::tile_waves)
      return {tile_time(costs_for(tables_.tiles, work.device), work), false};
    return {traffic_time(costs_for(tables_.traffic, work.device), work), true};
  }

 private:
  CostTables tables_;
};

}  // namespace

CostTables builtin_cost_tables() {
  return {{{{10, 0}, kB200}}, {{{9, 0}, kH200}}};
}

std::shared_ptr<const CostModel> cost_model_of(CostTables tables) {
  return std::make_shared<const TabledCostModel>(std::move(tables));
}

std::shared_ptr<const CostModel> default_cost_model() {
  static const std::shared_ptr<const CostModel> kModel = cost_model_of(builtin_cost_tables());
  return kModel;
}

}  // namespace cubinet
