// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_decode_swapped`: e4m3 KV on Hopper, more than 16 rows.
#include "decode_family.hpp"
#include "rounding.hpp"

#include <algorithm>

namespace cubinet {
namespace attention_decode_swapped {

inline constexpr ComputeCapability kDevice{9, 0};
inline constexpr std::uint32_t kSlice = 64;      // tokens of a step
inline constexpr std::uint32_t kMostStages = 4;  // more are no faster
inline constexpr std::uint32_t kThreads = 128;
inline constexpr std::uint32_t kCombinedInside =
    192 * 1024;  // bytes of partial results; a second kernel has one CTA per row

inline std::string gap(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kDevice)
    return "attention_decode_swapped has instructions of devices of " + kDevice.to_string() + " alone";
  if (!converts_kv(problem)) return "attention_decode_swapped converts KV of eight bits";
  const std::uint64_t rows = rows_of_kv_head(problem);
  if (rows > 16) return "";
  return "attention_decode_swapped has tiles of 32 rows and more, of which " + std::to_string(rows) +
         " would be used";
}

// Returns true for more than 32 rows, or for many tiles of narrow heads. Otherwise portable code is
// as fast for up to 32 rows, and faster if CTAs have short parts of tiles.
inline bool preferred(const AttentionProblem& problem, ComputeCapability device) {
  if (!gap(problem, device).empty()) return false;
  constexpr std::uint64_t many = 200;  // for the 132 SMs of the device
  return rows_of_kv_head(problem) > 32 ||
         (widest_head(problem) <= 64 && std::uint64_t{problem.batch} * problem.heads_kv >= many);
}

// Returns the pages that are looked up for a step.
inline std::uint32_t pages_of(const AttentionProblem& problem) {
  return std::max(kSlice / problem.tokens_per_page, 1U) * (problem.separate_page_tables ? 2 : 1);
}

// Returns the CTAs of an SM by the registers of their accumulators. The template computes the same.
inline std::uint32_t blocks_of(const AttentionProblem& problem, std::uint32_t tile_q) {
  const bool many = pages_of(problem) > 1 || problem.soft_cap || problem.mask == AttentionMask::custom;
  std::uint32_t most = 2;
  if (widest_head(problem) <= 64)
    most = tile_q <= 32 ? 4 : tile_q <= 64 ? 3 : 2;
  else if (widest_head(problem) <= 128)
    most = tile_q <= 48 ? 3 : 2;
  return most - (many ? 1 : 0);
}

inline DecodeBlock block(const AttentionProblem& problem, const DecodeTile& tile) {
  const std::uint32_t work = tile.kv * (tile.stages * kv_row_bytes(problem) + 2 * tile.q * kProductBytes);
  const std::uint32_t merge = tile.q * (problem.head_dim_v + 10) * 4;
  DecodeBlock block;
  block.slice = tile.kv;
  block.threads = kThreads;
  block.shared_bytes = tile.q * problem.head_dim_qk * kProductBytes + std::max(work, merge) + tile.q * 36 +
                       80 + 256 * pages_of(problem);
  block.partials_inside = kCombinedInside / (tile.q * problem.head_dim_v * 4);
  block.reader = KvReader::registers;
  block.registers = std::min(65536 / (kThreads * blocks_of(problem, tile.q)) / 8 * 8, 255U);
  return block;
}

// Returns tiles no larger than one that holds all rows, those that waste the fewest rows first.
// Each has the deepest ring with which an SM holds as many CTAs as its registers allow, or else
// with which it holds one CTA.
inline std::vector<DecodeCandidate> tiles(const AttentionProblem& problem) {
  const auto all = static_cast<std::uint32_t>(rows_of_kv_head(problem));
  std::vector<std::uint32_t> rows = {96, 64, 48, 32};
  if (widest_head(problem) > 128) rows = {32};
  while (rows.size() > 1 && rows[1] >= all)
    rows.erase(rows.begin());
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return divide_up(all, a) * a < divide_up(all, b) * b;
  });
  std::vector<DecodeCandidate> candidates;
  for (const std::uint32_t q : rows) {
    for (const std::uint32_t blocks : {blocks_of(problem, q), 1U}) {
      for (std::uint32_t stages = kMostStages; stages >= 2; --stages)
        candidates.push_back({DecodeTile{q, kSlice, stages}, blocks});
    }
  }
  return candidates;
}

}  // namespace attention_decode_swapped

inline const DecodeFamily kAttentionDecodeSwapped = {
    .name = "attention_decode_swapped",
    .gap = attention_decode_swapped::gap,
    .preferred = attention_decode_swapped::preferred,
    .source = "on an H200 0.5 to 0.95 of attention_decode's time",
    .tiles = attention_decode_swapped::tiles,
    .block = attention_decode_swapped::block,
};

}  // namespace cubinet
