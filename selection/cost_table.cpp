// SPDX-License-Identifier: Apache-2.0
#include <cubinet/selection/cost_table.hpp>

#include <cassert>

namespace cubinet {
namespace {

// Published with the selection rules that FlashInfer merged in January 2026 (its pull request 2265), found on
// B200 with 148 SMs. Their authors give no measurement; they are here as the default of that policy.
constexpr CostTable kB200 = {{2.2, 1.68, 1.48, 1.2, 1.0}, {1.32, 1.2, 1.08, 1.03, 1.0}, 128.0, 2, 1024,
                             "FlashInfer 2265, B200"};

struct DeviceCosts {
  ComputeCapability device;
  const CostTable* costs;
};

constexpr DeviceCosts kByDevice[] = {{{10, 0}, &kB200}, {{10, 3}, &kB200}, {{10, 7}, &kB200}};

}  // namespace

std::optional<std::size_t> tile_index(std::uint32_t tile_size_q) {
  for (std::size_t i = 0; i < kTileSizesQ.size(); ++i) {
    if (kTileSizesQ[i] == tile_size_q) return i;
  }
  return std::nullopt;
}

const CostTable& cost_table_for(ComputeCapability device) {
  for (const DeviceCosts& row : kByDevice) {
    if (row.device == device) return *row.costs;
  }
  return kB200;
}

double modelled_time(const CostTable& costs, std::uint32_t tile_size_q, std::uint64_t length,
                     std::uint64_t kv_splits, std::uint64_t waves) {
  const auto index = tile_index(tile_size_q);
  assert(index.has_value());
  const double main_loop = costs.main_loop[*index] * static_cast<double>(length);
  const double reduction = costs.reduction[*index] * costs.reduction_tokens * static_cast<double>(kv_splits);
  return (main_loop + reduction) * static_cast<double>(waves);
}

}  // namespace cubinet
