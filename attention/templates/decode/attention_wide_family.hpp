// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_wide`: portable, for latent attention and head dim 512.
#include "decode_family.hpp"

#include <algorithm>

namespace cubinet {
namespace attention_wide {

inline constexpr std::uint32_t kMostStages = 6;

// Returns no gap: the declaration of the template states all limits.
inline std::string gap(const AttentionProblem&, ComputeCapability) {
  return "";
}

inline bool preferred(const AttentionProblem&, ComputeCapability) {
  return true;
}

// Returns whether the weights of a step are computed once, which needs room in shared memory.
inline bool shares_weights(const AttentionProblem& problem, const DecodeTile& tile) {
  return tile.q < 64 && tile.kv >= 32 && tile.stages >= (problem.is_mla_generation() ? 4U : 3U);
}

inline DecodeBlock block(const AttentionProblem& problem, const DecodeTile& tile) {
  const std::uint32_t ring = tile.stages * tile.kv * kv_row_bytes(problem);
  // The logits of a step and of the next one, for each part of the head dim that the warps divide.
  const std::uint32_t parts = std::max(64 / tile.q / (tile.kv == 16 ? 1U : 2U), 1U);
  const std::uint32_t logits = 2 * parts * tile.q * (tile.kv + 8) * 4;
  const std::uint32_t weights =
      shares_weights(problem, tile) ? 2 * tile.q * (tile.kv * kProductBytes + 20) : 0;
  const std::uint32_t merge = tile.q * (problem.head_dim_v + 10) * 4;
  const std::uint32_t q_bytes = tile.q * problem.head_dim_qk * kProductBytes;
  const std::uint32_t q_scales = converts_kv(problem) ? tile.q * 4 : 0;
  // The accumulators of 64 rows leave few registers.
  const bool few_registers =
      tile.q == 64 && (problem.soft_cap.has_value() || problem.mask == AttentionMask::custom);
  const std::uint32_t slice = std::min(tile.kv, few_registers ? 16U : 32U);
  return {256, q_bytes + std::max(ring + logits + weights, merge) + q_scales, 255, slice, 4};
}

// Tiles that hold all rows come first, with the deepest ring that fits beside one tile. Smaller
// ones read KV once more each, but waste fewer rows.
inline std::vector<DecodeCandidate> tiles(const AttentionProblem& problem) {
  std::vector<DecodeCandidate> candidates;
  const bool narrow = converts_kv(problem);
  const std::uint32_t least = problem.is_mla_generation() ? 3 : 2;  // stages
  for (std::uint32_t q = smallest_tile_q(problem); q >= 16; q /= 2) {
    const std::uint32_t most =
        narrow && q < 64 ? 64 : 32;  // tokens of a step; the only size for 8-bit elements
    for (std::uint32_t kv = most; kv >= (narrow ? most : 16); kv /= 2) {
      for (std::uint32_t stages = kMostStages; stages >= least; --stages)
        candidates.push_back({{q, kv, stages}});
    }
  }
  return candidates;
}

}  // namespace attention_wide

inline const DecodeFamily kAttentionWide = {
    .name = "attention_wide",
    .gap = attention_wide::gap,
    .preferred = attention_wide::preferred,
    .source = "the only one of its head dims that runs everywhere",
    .tiles = attention_wide::tiles,
    .block = attention_wide::block,
};

}  // namespace cubinet
