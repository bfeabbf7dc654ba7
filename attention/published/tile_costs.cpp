// SPDX-License-Identifier: Apache-2.0
#include "tile_costs.hpp"

#include "rounding.hpp"

namespace cubinet {

std::optional<std::size_t> tile_index(std::uint32_t tile_size_q) {
  for (std::size_t i = 0; i < kTileSizesQ.size(); ++i) {
    if (kTileSizesQ[i] == tile_size_q) return i;
  }
  return std::nullopt;
}

double tile_time(const TileCosts& costs, const KernelWork& work) {
  const std::size_t index = tile_index(work.tile_size_q).value_or(0);
  const double main_loop = costs.main_loop[index] * static_cast<double>(work.longest_tokens);
  const double reduction = costs.reduction[index] * costs.reduction_tokens * static_cast<double>(work.splits);
  const std::uint64_t waves = divide_up(static_cast<std::uint64_t>(work.blocks), work.multiprocessors);
  return (main_loop + reduction) * static_cast<double>(waves);
}

}  // namespace cubinet
