// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/spec/sm_target.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cubinet {

// The sizes of tile that the model compares, largest first: ties go to the larger.
inline constexpr std::array<std::uint16_t, 5> kTileSizesQ = {128, 64, 32, 16, 8};

// The constants of the tileSizeQ cost model and of the rules that were tuned on a device. The model's unit is
// the time that the smallest tile takes for one KV token.
//
//   time = (main_loop[tile] * length + reduction[tile] * reduction_tokens * kv_splits) * waves
//
// with length the KV tokens of one CTA, rounded up to whole steps, and waves the CTAs over the SMs.
struct CostTable {
  std::array<double, 5> main_loop;  // of kTileSizesQ: what a larger tile costs a KV token
  std::array<double, 5> reduction;  // and a partial result
  double reduction_tokens;          // KV tokens that reducing one partial result costs
  // The model is not asked when more than one in this many SMs has a CTA: nothing is left to gain.
  std::uint32_t busy_share;
  // MLA generation swaps A and B while a CTA has at most this many KV tokens.
  std::uint32_t mla_swaps_tokens;
  const char* source;
};

// nullopt for a tile of another size.
std::optional<std::size_t> tile_index(std::uint32_t tile_size_q);

// What was measured for the device, or for the one nearest to it. Every device has B200's figures today; a
// measurement replaces them by a row of the table in cost_table.cpp.
const CostTable& cost_table_for(ComputeCapability device);

double modelled_time(const CostTable& costs, std::uint32_t tile_size_q, std::uint64_t length,
                     std::uint64_t kv_splits, std::uint64_t waves);

}  // namespace cubinet
