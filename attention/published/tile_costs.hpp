// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cubinet {

// The tile sizes that the model compares, largest first: ties go to the larger.
inline constexpr std::array<std::uint16_t, 5> kTileSizesQ = {128, 64, 32, 16, 8};

// The constants of the tileSizeQ cost model. Its unit is the time that the smallest tile takes for
// one KV token.
//
// time = (main_loop[tile] * length + reduction[tile] * reduction_tokens * splits) * waves
//
// `length` is the KV tokens of one CTA, rounded up to whole steps. `waves` is the number of CTAs
// divided by the number of SMs.
struct TileCosts {
  std::array<double, 5> main_loop;  // for each of kTileSizesQ: relative cost of a KV token
  std::array<double, 5> reduction;  // for each of kTileSizesQ: relative cost of a partial result
  double reduction_tokens;          // the cost of reducing one partial result, in KV tokens
  const char* source;
};

// Returns nullopt for any other tile size.
std::optional<std::size_t> tile_index(std::uint32_t tile_size_q);

// Returns the modelled time. Tiles of other sizes cost as much as the largest.
double tile_time(const TileCosts& costs, const KernelWork& work);

}  // namespace cubinet
