// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_decode_wgmma`: tiles of 64 rows on Hopper, 16-bit KV.
#include "decode_family.hpp"
#include "templates/invariant_numerics.hpp"

#include <algorithm>

namespace cubinet {
namespace attention_decode_wgmma {

inline constexpr ComputeCapability kDevice{9, 0};
inline constexpr std::uint32_t kRows = 64;
inline constexpr std::uint32_t kSlice = 64;  // tokens of a step
inline constexpr std::uint32_t kMostStages = 6;

inline std::string gap(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kDevice)
    return "attention_decode_wgmma has instructions of devices of " + kDevice.to_string() + " alone";
  if (converts_kv(problem)) return "attention_decode_wgmma multiplies KV as it is, of 16 bits";
  if (problem.is_invariant() && problem.head_dim_v > 128)
    return "attention_decode_wgmma has invariant numerics for head dims of V up to 128";
  const std::uint64_t rows = rows_of_kv_head(problem);
  if (rows > kRows / 2) return "";
  return "attention_decode_wgmma has tiles of " + std::to_string(kRows) + " rows, of which " +
         std::to_string(rows) + " would be used";
}

inline bool preferred(const AttentionProblem& problem, ComputeCapability device) {
  return gap(problem, device).empty() && problem.head_dim_v <= 256;
}

inline DecodeBlock block(const AttentionProblem& problem, const DecodeTile& tile) {
  const std::uint32_t ring = tile.kv * tile.stages * kv_row_bytes(problem);
  const std::uint32_t merge = tile.q * (problem.head_dim_v + 10) * 4;
  DecodeBlock block;
  block.slice = problem.is_invariant() ? kInvariantSegment : tile.kv;
  block.threads = 128;
  block.reader = KvReader::warpgroups;
  block.shared_bytes = tile.q * problem.head_dim_qk * kProductBytes + std::max(ring, merge);
  block.registers = widest_head(problem) > 64 ? 255 : 168;
  if (problem.is_invariant()) {
    block.shared_bytes += 64;
    block.partials_inside = segments_folded_inside(problem, tile);
  }
  return block;
}

// Returns the tiles with the deepest ring with which an SM holds two CTAs, and with which it holds
// one. Of equal estimates the first counts: with invariant numerics the deeper ring.
inline std::vector<DecodeCandidate> tiles(const AttentionProblem& problem) {
  std::vector<DecodeCandidate> candidates;
  for (const std::uint32_t i : {0U, 1U}) {
    const std::uint32_t blocks = problem.is_invariant() ? 1 + i : 2 - i;
    for (std::uint32_t stages = kMostStages; stages >= 2; --stages)
      candidates.push_back({DecodeTile{kRows, kSlice, stages}, blocks});
  }
  return candidates;
}

}  // namespace attention_decode_wgmma

inline const DecodeFamily kAttentionDecodeWgmma = {
    .name = "attention_decode_wgmma",
    .gap = attention_decode_wgmma::gap,
    .preferred = attention_decode_wgmma::preferred,
    .source = "on an H200 0.86 of attention_decode's time",
    .tiles = attention_decode_wgmma::tiles,
    .block = attention_decode_wgmma::block,
    .is_compared = compares_small_tiles,
    .has_numerics = true,
};

}  // namespace cubinet
