// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_decode`: portable, for head dims up to 256.
#include "decode_family.hpp"
#include "templates/invariant_numerics.hpp"

#include <algorithm>

namespace cubinet {
namespace attention_decode {

inline constexpr std::uint32_t kTileRows = 16;  // rows of the smallest product tile
inline constexpr std::uint32_t kMostWarps = 8;  // the template's limit
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

// Returns the resources with invariant numerics: one group of warps, which share a step.
inline DecodeBlock invariant_block(const AttentionProblem& problem, const DecodeTile& tile) {
  DecodeBlock block;
  const std::uint32_t ring = tile.stages * tile.kv * kv_row_bytes(problem);
  block.slice = kInvariantSegment;
  block.threads = tile.q * tile.kv / (slice_of(problem, tile.q) == 32 ? 16 : 8);
  const bool two_steps = (tile.stages == 4 || tile.stages == 6) && tile.q < 64 &&
                         widest_head(problem) <= 128 && problem.tokens_per_page > 8;
  const std::uint32_t steps = (two_steps ? 2 : 1) * (kInvariantStep * 4 + 16);
  block.shared_bytes = tile.q * (steps + problem.head_dim_qk * kProductBytes) + ring;
  block.registers = widest_head(problem) > 64 || two_steps ? 255 : 168;
  block.partials_inside = segments_folded_inside(problem, tile);
  return block;
}

inline DecodeBlock block(const AttentionProblem& problem, const DecodeTile& tile) {
  if (problem.is_invariant()) return invariant_block(problem, tile);
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

// Returns tiles of four slices and of one, of 32 rows also of two. Few CTAs of many warps are for
// long tiles, many of few warps for short ones, whose start and end cost time for each warp. The
// model estimates that two slices of 16 rows would save 1 % more.
inline std::vector<DecodeCandidate> tiles_up_to_32_rows(const AttentionProblem& problem, std::uint32_t q) {
  // Two warps that share a slice wait for each other; a third stage hides that.
  const std::uint32_t stages = q / rows_of_warp(problem, q) > 1 ? 3 : 2;
  const std::uint32_t slice = slice_of(problem, q);
  // A warp that needs another page number for each of its slices waits for it, unless another warp
  // of its CTA has work meanwhile: with one warp, 128 sequences of 500 tokens took 1.10 times as
  // long on an H100 (bench/peers/vllm_attention.py). Rows of 128 bytes gain from one warp all the
  // same (sample-101-1 of bench/results/sample_alternatives.json).
  const bool waits_for_pages = problem.tokens_per_page <= slice && kv_row_bytes(problem) > 128;
  std::vector<DecodeCandidate> candidates = {{DecodeTile{q, 4 * slice, stages}}};
  if (q > kTileRows || waits_for_pages) candidates.push_back({DecodeTile{q, 2 * slice, stages}});
  if (!waits_for_pages) candidates.push_back({DecodeTile{q, slice, stages}});
  return candidates;
}

// Returns the tiles with the deepest ring with which an SM holds two CTAs, and with which it holds
// one. Four warps share each slice. The merge of two slices of wide heads needs more shared memory
// than some devices have.
inline std::vector<DecodeCandidate> tiles_of_64_rows(const AttentionProblem& problem) {
  std::vector<DecodeCandidate> candidates;
  const std::uint32_t slice = slice_of(problem, 64);
  const bool is_wide = widest_head(problem) > 128;
  const std::uint32_t most = slice == 32 && widest_head(problem) > 64 ? slice : kMostWarps / 4 * slice;
  for (std::uint32_t kv = most; kv >= (is_wide ? slice : most); kv /= 2) {
    for (const std::uint32_t blocks : {2U, 1U}) {
      for (std::uint32_t stages = kMostStages; stages >= 2; --stages)
        candidates.push_back({DecodeTile{64, kv, stages}, blocks});
    }
  }
  return candidates;
}

// Returns the tiles with invariant numerics, all of which give the same bits: those with the
// deepest ring with which an SM holds one CTA, two, and three. All but one of the stages are in
// flight.
inline std::vector<DecodeCandidate> invariant_tiles(const AttentionProblem& problem) {
  std::vector<DecodeCandidate> candidates;
  const std::uint32_t most = widest_head(problem) > 128 ? 32 : 64;  // the template's limit
  for (std::uint32_t q = std::min(smallest_tile_q(problem), most); q >= kTileRows; q /= 2) {
    for (const std::uint32_t blocks : {1U, 2U, 3U}) {
      for (std::uint32_t stages = kMostStages; stages >= 2; --stages)
        candidates.push_back({DecodeTile{q, kInvariantStep, stages}, blocks});
    }
  }
  return candidates;
}

// Tiles that hold all rows come first. Smaller ones read KV once more each, but waste fewer rows.
inline std::vector<DecodeCandidate> tiles(const AttentionProblem& problem) {
  if (problem.is_invariant()) return invariant_tiles(problem);
  std::vector<DecodeCandidate> candidates;
  for (std::uint32_t q = smallest_tile_q(problem); q >= kTileRows; q /= 2) {
    const auto of_q = q == 64 ? tiles_of_64_rows(problem) : tiles_up_to_32_rows(problem, q);
    candidates.insert(candidates.end(), of_q.begin(), of_q.end());
  }
  return candidates;
}

}  // namespace attention_decode

inline const DecodeFamily kAttentionDecode = {
    .name = "attention_decode",
    .gap = attention_decode::gap,
    .preferred = attention_decode::preferred,
    .source = "the only one of its head dims that runs everywhere",
    .tiles = attention_decode::tiles,
    .block = attention_decode::block,
    .is_compared = compares_small_tiles,
    .has_numerics = true,
};

}  // namespace cubinet
