// SPDX-License-Identifier: Apache-2.0
// The template `attention_decode_wgmma`: tiles of 64 rows on Hopper.
#include "decode_family.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr ComputeCapability kWgmmaDevice{9, 0};
constexpr std::uint32_t kWgmmaRows = 64;
constexpr std::uint32_t kWgmmaSlice = 64;  // tokens of a step
constexpr std::uint32_t kMostWgmmaStages = 6;
constexpr std::uint32_t kPairedRows = 128;   // of two warpgroups, for whom a third converts
constexpr std::uint32_t kBarrierBytes = 64;  // between those that multiply and the one that converts
constexpr std::uint32_t kMostConvertedStages = 4;

std::string gap_of_wgmma(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kWgmmaDevice)
    return "attention_decode_wgmma has instructions of devices of " + kWgmmaDevice.to_string() + " alone";
  const std::uint64_t rows = rows_of_kv_head(problem);
  if (rows > kWgmmaRows / 2) return "";
  return "attention_decode_wgmma has tiles of " + std::to_string(kWgmmaRows) + " rows, of which " +
         std::to_string(rows) + " would be used";
}

bool wgmma_preferred(const AttentionProblem& problem, ComputeCapability device) {
  return gap_of_wgmma(problem, device).empty() && problem.head_dim_v <= 256;
}

// Whether a tile has the rows of two warpgroups: one pass over KV, which is converted once for both.
bool pairs_rows(const AttentionProblem& problem) {
  return converts_kv(problem) && problem.head_dim_qk == 128 && problem.head_dim_v == 128 &&
         rows_of_kv_head(problem) > kWgmmaRows;
}

bool has_narrow_heads(const AttentionProblem& problem) {
  return std::max(problem.head_dim_qk, problem.head_dim_v) <= 64;
}

// Whether three blocks that convert share a multiprocessor: those whose loops fit into as many registers.
bool shares_by_three(const AttentionProblem& problem) {
  const std::uint32_t pages = std::max(kWgmmaSlice / problem.tokens_per_page, 1U);
  return converts_kv(problem) && has_narrow_heads(problem) &&
         pages * (problem.separate_page_tables ? 2 : 1) <= 4 &&
         !(problem.soft_cap && problem.mask == AttentionMask::custom);
}

DecodeBlock block_of_wgmma(const AttentionProblem& problem, const DecodeTile& tile) {
  const bool converts = converts_kv(problem);
  const bool pairs = tile.q == kPairedRows;
  const std::uint32_t widest = std::max(problem.head_dim_qk, problem.head_dim_v);
  // K of one slice or two, and V of two.
  const std::uint32_t columns =
      (pairs || has_narrow_heads(problem) ? 2 : 1) * problem.head_dim_qk + 2 * problem.head_dim_v;
  const std::uint32_t work =
      tile.kv * (tile.stages * kv_row_bytes(problem) + (converts ? columns * kProductBytes : 0));
  const std::uint32_t merge = tile.q * (problem.head_dim_v + 10) * 4;
  DecodeBlock block;
  block.slice = tile.kv;
  block.threads = 2 * tile.q + (converts ? 128 : 0);
  block.shared_bytes = tile.q * problem.head_dim_qk * kProductBytes + std::max(work, merge) +
                       (converts ? tile.q * 4 + kBarrierBytes : 0);
  if (pairs)
    block.registers = 168;
  else if (converts)
    block.registers = widest > 128 ? 255 : shares_by_three(problem) ? 80 : 128;
  else
    block.registers = widest > 64 ? 255 : 168;
  return block;
}

// The deepest ring of which as many blocks share a multiprocessor as their registers let, else of which one
// fits.
std::vector<DecodeTileWish> tiles_of_wgmma(const AttentionProblem& problem) {
  std::vector<DecodeTileWish> wishes;
  if (pairs_rows(problem)) {
    for (std::uint32_t stages = kMostWgmmaStages; stages >= 2; --stages)
      wishes.emplace_back(DecodeTile{kPairedRows, kWgmmaSlice, stages}, 1);
    return wishes;
  }
  for (const std::uint32_t blocks : {shares_by_three(problem) ? 3U : 2U, 1U}) {
    for (std::uint32_t stages = converts_kv(problem) ? kMostConvertedStages : kMostWgmmaStages; stages >= 2;
         --stages)
      wishes.emplace_back(DecodeTile{kWgmmaRows, kWgmmaSlice, stages}, blocks);
  }
  return wishes;
}

}  // namespace

const DecodeFamily kAttentionDecodeWgmma = {
    "attention_decode_wgmma", gap_of_wgmma,
    wgmma_preferred,          "on an H200 0.86 of attention_decode's time with bf16, 0.6 with e4m3",
    tiles_of_wgmma,           block_of_wgmma,
};

}  // namespace cubinet
