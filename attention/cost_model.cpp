// SPDX-License-Identifier: Apache-2.0
#include "cost_tables.hpp"

namespace cubinet {
namespace {

// Published with the selection rules of FlashInfer's pull request 2265 (January 2026), measured on
// B200 with 148 SMs. The authors publish no measurements. The values are the default of that
// policy.
constexpr TileCosts kB200 = {
    {2.2, 1.68, 1.48, 1.2, 1.0}, {1.32, 1.2, 1.08, 1.03, 1.0}, 128.0, "FlashInfer 2265, B200"};

// Fitted by least squares to two sets of times: 42 launches on an H200
// (tests/attention/traffic_costs_test.cpp), which give the memory rate, and 2,125 kernels and
// divisions of 40 problems on an H100 (bench/results/sample_alternatives.json). Held-out fourths of
// these problems were 1 to 4 % behind the fastest. The ratios hold on another device if its memory
// bandwidth per SM is similar. The choices need only the ratios. The constants of the two kernels
// of latent attention are fitted to 95 problems of the samples 601 to 606 on an H200; the problems
// of bench/results/latent_alternatives.json were held out. attention_latent's times between waves
// and between tiles are estimates from 256 sequences of 1024 tokens since its stores are faster
// (docs/kernels/attention_latent.md). The rates of attention_decode_wgmma are from five problems of
// sample 20261128 on an H200, where CTAs that had an SM to themselves read at 31e3 in place of the
// 19e3 of attention_decode. Its items with rows of 256 elements, and those of attention_decode with
// tiles of 64 rows, are from bench/results/row_tile_alternatives.json.
constexpr TrafficCosts kHopper = {
    33.3e3,
    {{{{{82.8e3, 13.6e3, 0.2}, {64.8e3, 6.1e3, 0.23}, {60e3, 3.51e3, 0.29}}},
      {{{69.1e3, 13.8e3, 0.2}, {65e3, 6.5e3, 0.23}, {60e3, 4.64e3, 0.55}}},
      {{{40e3, 10e3, 0.25}, {36.1e3, 10e3, 0.28}, {40e3, 10e3, 0.53}}}}},
    {{{{{39.5e3, 6.52e3, 0.25}, {26.8e3, 4.69e3, 0.48}, {9.75e3, 2.4e3, 0.26}}},
      {{{62.8e3, 10.9e3, 0.25}, {34.7e3, 5.5e3, 0.48}, {16.2e3, 2.97e3, 0.26}}},
      {{{38e3, 8.96e3, 0.27}, {21.5e3, 8.25e3, 0.34}, {20.4e3, 8.25e3, 0.54}}}}},
    {{{82.8e3, 6e3, 0.29}, {60e3, 8e3, 0.6}, {40e3, 10e3, 0.53}}},
    {{{{{36.7e3, 3.1e3, 0.3}, {27.1e3, 2.55e3, 0.45}, {22.3e3, 2.41e3, 0.6}, {16e3, 1.8e3, 0.9}}},
      {{{36e3, 4.46e3, 0.3}, {34.7e3, 3.81e3, 0.45}, {25.5e3, 3.01e3, 0.6}, {19e3, 2.53e3, 0.9}}}}},
    {{{{{{38.8e3, 9.7e3, 0.42}, {33.8e3, 9.36e3, 0.47}, {39.6e3, 9.9e3, 0.88}}}, 4.5, 1.5},
      {{{{62.9e3, 14.8e3, 0.26}, {25e3, 9.6e3, 0.33}, {24.2e3, 9.79e3, 0.52}}}, 4.5, 1.5}}},
    {{{{{{36.5e3, 9.12e3, 0.29}, {36.5e3, 9.12e3, 0.29}, {36.5e3, 9.12e3, 0.29}}}, 6.12, 1.94},
      {{{{41.3e3, 9.74e3, 0.096}, {41.3e3, 9.74e3, 0.096}, {41.3e3, 9.74e3, 0.096}}}, 6.12, 0.607}}},
    0.8,
    0.16,
    2.6,
    1.5,
    0.022,
    0.2,
    0.008,
    1.3,
    0.27,
    3.79e6,
    0.55,
    2.3,
    1.7,
    "bench/results/sample_alternatives.json"};

// The rate is that of attention_prefill on one H200, causal, head dim 128: 240 TFLOP/s of what rows
// see at 8192 tokens, 215 at 2048. That of warpgroups is 620 TFLOP/s of attention_prefill_wgmma.
// The other constants, such as 1.6 times that rate for e4m3, are estimates. The choices need only
// the ratios.
constexpr ProductCosts kHopperProducts = {1.9e6,
                                          4.7e6,
                                          7.5e6,
                                          1.7e6,
                                          1.03,
                                          1.02,
                                          0.3,
                                          3.0,
                                          1.5,
                                          3.0,
                                          2.5e6,
                                          33.3e3,
                                          "docs/kernels/attention_prefill.md"};

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
      return {tile_time(costs_for(tables_.tiles, work.device), work)};
    if (work.cost_class == CostClass::products) {
      const CostTerms terms = product_terms(costs_for(tables_.products, work.device), work);
      return {terms.sum(), true, terms};
    }
    const CostTerms terms = traffic_terms(costs_for(tables_.traffic, work.device), work);
    return {terms.sum(), true, terms};
  }

 private:
  CostTables tables_;
};

}  // namespace

CostTables builtin_cost_tables() {
  return {{{{10, 0}, kB200}}, {{{9, 0}, kHopper}}, {{{9, 0}, kHopperProducts}}};
}

std::shared_ptr<const CostModel> cost_model_of(CostTables tables) {
  return std::make_shared<const TabledCostModel>(std::move(tables));
}

std::shared_ptr<const CostModel> default_cost_model() {
  static const std::shared_ptr<const CostModel> kModel = cost_model_of(builtin_cost_tables());
  return kModel;
}

}  // namespace cubinet
