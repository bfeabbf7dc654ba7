// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/cost_model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cubinet {

// The sizes of tile that the model compares, largest first: ties go to the larger.
inline constexpr std::array<std::uint16_t, 5> kTileSizesQ = {128, 64, 32, 16, 8};

// The constants of the tileSizeQ cost model. Its unit is the time that the smallest tile takes for one KV
// token.
//
//   time = (main_loop[tile] * length + reduction[tile] * reduction_tokens * splits) * waves
//
// with length the KV tokens of one CTA, rounded up to whole steps, and waves the CTAs over the SMs.
struct TileCosts {
  std::array<double, 5> main_loop;  // of kTileSizesQ: what a larger tile costs a KV token
  std::array<double, 5> reduction;  // and a partial result
  double reduction_tokens;          // KV tokens that reducing one partial result costs
  const char* source;
};

// nullopt for a tile of another size.
std::optional<std::size_t> tile_index(std::uint32_t tile_size_q);

// A tile of another size costs what the largest does.
double tile_time(const TileCosts& costs, const KernelWork& work);

}  // namespace cubinet
