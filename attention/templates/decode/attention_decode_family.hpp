// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_decode`: portable, for head dims up to 256.
#include "decode_family.hpp"

#include <algorithm>

namespace cubinet {
namespace attention_decode {

inline constexpr std::uint32_t kTileRows = 16;     // rows of the smallest product tile
inline constexpr std::uint32_t kMostWarps = 8;     // the template's limit
inline constexpr std::uint32_t kMostTokens = 128;  // tokens of a step
inline constexpr std::uint32_t kMostStages = 6;

// Returns the rows of a warp. A warp multiplies converted KV with two tiles of rows.
inline std::uint32_t rows_of_warp(const AttentionProblem& problem, std::uint32_t tile_q) {
  return tile_q == 32 && converts_kv(problem) && problem.head_dim_v <= 128 ? 2 * kTileRows : kTileRows;
}

// Returns the tokens that a warp processes at a time.
inline std::uint32_t slice_of(const AttentionProblem& problem, std::uint32_t tile_q) {
  return (tile_q == 64 || converts_kv(problem)) && problem.head_dim_v <= 128 ? 32 : 16;
}

inline std::string gap(const AttentionProblem& problem, ComputeCapability) {
  if (!problem.is_mla_generation()) return "";
  return "latent attention (head dims 576/512) is not what attention_decode computes: K and V are two pools";
}

inline bool preferred(const AttentionProblem&, ComputeCapability) {
  return true;
}

inline DecodeBlock block(const AttentionProblem& problem, const DecodeTile& tile) {
  DecodeBlock block;
  block.slice = slice_of(problem, tile.q);
  const std::uint32_t warps_kv = tile.kv / block.slice;
  const std::uint32_t ring = tile.stages * tile.kv * kv_row_bytes(problem);
  const std::uint32_t merge = tile.q * warps_kv * (problem.head_dim_v + 10) * 4;
  const std::uint32_t kept = rows_of_warp(problem, tile.q) > kTileRows ? 64 : 0;
  const std::uint32_t q_scales = converts_kv(problem) ? tile.q * 4 + kept : 0;
  block.warps = tile.q / rows_of_warp(problem, tile.q) * warps_kv;
  block.threads = 32 * block.warps;
  block.shared_bytes = tile.q * problem.head_dim_qk * kProductBytes + std::max(ring, merge) + q_scales;
  block.registers = widest_head(problem) > 64 || rows_of_warp(problem, tile.q) > kTileRows ? 255 : 128;
  return block;
}

// Returns the tokens of a step of at most `bytes` bytes, unless that would leave fewer than `warps`
// warps.
inline std::uint32_t tokens_of_step(const AttentionProblem& problem, std::uint32_t q, std::uint32_t bytes,
                                    std::uint32_t warps) {
  const std::uint32_t warps_q = q / rows_of_warp(problem, q);
  const std::uint32_t slice = slice_of(problem, q);
  std::uint32_t tokens = std::min(kMostWarps / warps_q * slice, kMostTokens);
  while (tokens * kv_row_bytes(problem) > bytes && tokens > warps * slice)
    tokens /= 2;
  return tokens;
}

// Returns tiles whose CTAs together have 64 KiB of KV in flight on an SM: two stages of the step of
// each CTA. That keeps the SM's share of the memory busy, and more is slower. If there are many
// tiles, these are many small CTAs, all of which run at once and whose warps do not wait for each
// other. A CTA that has an SM to itself needs four warps for the same.
inline std::vector<DecodeTileRule> tiles_up_to_32_rows(const AttentionProblem& problem, std::uint32_t q) {
  struct Step {
    double tiles;
    std::uint32_t bytes;
    std::uint32_t warps;
  };
  std::vector<DecodeTileRule> rules;
  const std::uint32_t slice = slice_of(problem, q);
  // Two warps that share a slice wait for each other; a third stage hides that.
  const std::uint32_t stages = q / rows_of_warp(problem, q) > 1 ? 3 : 2;
  for (const Step& step : {Step{3.5, 8 * 1024, 1}, Step{1.75, 16 * 1024, 2}, Step{0, 32 * 1024, 4}}) {
    // Skips one warp per CTA if each step of a warp needs its own page number: two warps per CTA
    // are then 0.4 to 1.3 % faster.
    if (step.warps == 1 && problem.tokens_per_page <= 16 && slice == 16 && widest_head(problem) <= 128)
      continue;
    // A warp that multiplies two tiles is bound by the products as much as by memory.
    const std::uint32_t warps = std::max(step.warps, rows_of_warp(problem, q) / kTileRows);
    rules.push_back({DecodeTile{q, tokens_of_step(problem, q, step.bytes, warps), stages}, 1, step.tiles});
  }
  for (std::uint32_t kv = rules.back().tile.kv; kv >= slice; kv /= 2)
    rules.push_back({DecodeTile{q, kv, 2}, 1});
  return rules;
}

// Returns the tiles with the deepest ring with which an SM holds two CTAs, or else with which it
// holds one. Four warps share each slice.
inline std::vector<DecodeTileRule> tiles_of_64_rows(const AttentionProblem& problem) {
  std::vector<DecodeTileRule> rules;
  const std::uint32_t slice = slice_of(problem, 64);
  const std::uint32_t warps_kv = slice == 32 && widest_head(problem) > 64 ? 1 : kMostWarps / 4;
  for (std::uint32_t kv = warps_kv * slice; kv >= slice; kv /= 2) {
    for (const std::uint32_t blocks : {2U, 1U}) {
      for (std::uint32_t stages = kMostStages; stages >= 2; --stages)
        rules.push_back({DecodeTile{64, kv, stages}, blocks});
    }
  }
  return rules;
}

// Tiles smaller than one that holds all rows are for devices on which that tile does not fit.
inline std::vector<DecodeTileRule> tiles(const AttentionProblem& problem) {
  std::vector<DecodeTileRule> rules;
  for (std::uint32_t q = smallest_tile_q(problem); q >= kTileRows; q /= 2) {
    const auto of_q = q == 64 ? tiles_of_64_rows(problem) : tiles_up_to_32_rows(problem, q);
    rules.insert(rules.end(), of_q.begin(), of_q.end());
  }
  return rules;
}

}  // namespace attention_decode

inline const DecodeFamily kAttentionDecode = {
    .name = "attention_decode",
    .gap = attention_decode::gap,
    .preferred = attention_decode::preferred,
    .source = "the only one of its head dims that runs everywhere",
    .tiles = attention_decode::tiles,
    .block = attention_decode::block,
};

}  // namespace cubinet
