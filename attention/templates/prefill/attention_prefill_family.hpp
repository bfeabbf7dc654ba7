// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_prefill`: portable.
#include "prefill_family.hpp"

namespace cubinet {
namespace attention_prefill {

inline std::string gap(const AttentionProblem&, ComputeCapability) {
  return "";
}

inline bool preferred(const AttentionProblem&, ComputeCapability) {
  return false;
}

inline PrefillBlock block(const AttentionProblem& problem, const PrefillTile& tile) {
  const auto bytes_q = static_cast<std::uint32_t>(bits_of(problem.data_type_q) / 8);
  const auto bytes_kv = static_cast<std::uint32_t>(bits_of(problem.data_type_k) / 8);
  constexpr std::uint32_t kNextTileBytes = 16;
  // A warp has registers for these columns of the output. Invariant numerics have two outputs.
  const std::uint32_t most_columns = problem.is_invariant() ? 128 : 256;
  PrefillBlock block;
  block.threads = 2 * tile.q;
  block.tile_heads = problem.group_size();
  block.column_parts = (problem.head_dim_v + most_columns - 1) / most_columns;
  // Rows are padded to multiples of 64 bytes.
  const std::uint32_t padding = 64 / bytes_kv;
  const auto padded = [&](std::uint32_t columns) { return (columns + padding - 1) / padding * padding; };
  const std::uint32_t columns_v = problem.head_dim_v / block.column_parts;
  const std::uint32_t step = tile.stages * tile.kv * (padded(problem.head_dim_qk) + padded(columns_v));
  block.shared_bytes = tile.q * padded(problem.head_dim_qk) * bytes_q + step * bytes_kv + kNextTileBytes;
  return block;
}

// Tall tiles read K and V less often; several CTAs of an SM hide each other's barriers. One stage
// is for devices whose shared memory holds no more of a wide head.
inline std::vector<PrefillTile> tiles(const AttentionProblem&) {
  return {{128, 64, 2}, {64, 64, 2}, {64, 64, 1}};
}

}  // namespace attention_prefill

inline const PrefillFamily kAttentionPrefill = {
    .name = "attention_prefill",
    .gap = attention_prefill::gap,
    .preferred = attention_prefill::preferred,
    .source = "the one that runs everywhere",
    .tiles = attention_prefill::tiles,
    .block = attention_prefill::block,
    .has_numerics = true,
    .converts_kv = true,
};

}  // namespace cubinet
