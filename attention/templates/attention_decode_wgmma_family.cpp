// SPDX-License-Identifier: Apache-2.0
// The template `attention_decode_wgmma`: tiles of 64 rows on Hopper, 16-bit KV.
#include "decode_family.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr ComputeCapability kWgmmaDevice{9, 0};
constexpr std::uint32_t kWgmmaRows = 64;
constexpr std::uint32_t kWgmmaSlice = 64;  // tokens of a step
constexpr std::uint32_t kMostWgmmaStages = 6;

std::string gap_of_wgmma(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kWgmmaDevice)
    return "attention_decode_wgmma has instructions of devices of " + kWgmmaDevice.to_string() + " alone";
  if (converts_kv(problem)) return "attention_decode_wgmma multiplies KV as it is, of 16 bits";
  const std::uint64_t rows = rows_of_kv_head(problem);
  if (rows > kWgmmaRows / 2) return "";
  return "attention_decode_wgmma has tiles of " + std::to_string(kWgmmaRows) + " rows, of which " +
         std::to_string(rows) + " would be used";
}

bool wgmma_preferred(const AttentionProblem& problem, ComputeCapability device) {
  return gap_of_wgmma(problem, device).empty() && problem.head_dim_v <= 256;
}

DecodeBlock block_of_wgmma(const AttentionProblem& problem, const DecodeTile& tile) {
  const std::uint32_t ring = tile.kv * tile.stages * kv_row_bytes(problem);
  const std::uint32_t merge = tile.q * (problem.head_dim_v + 10) * 4;
  DecodeBlock block;
  block.slice = tile.kv;
  block.threads = 128;
  block.shared_bytes = tile.q * problem.head_dim_qk * kProductBytes + std::max(ring, merge);
  block.registers = std::max(problem.head_dim_qk, problem.head_dim_v) > 64 ? 255 : 168;
  return block;
}

// Returns the tiles with the deepest ring with which an SM holds two CTAs, or else with which it
// holds one.
std::vector<DecodeTileRule> tiles_of_wgmma(const AttentionProblem&) {
  std::vector<DecodeTileRule> rules;
  for (const std::uint32_t blocks : {2U, 1U}) {
    for (std::uint32_t stages = kMostWgmmaStages; stages >= 2; --stages)
      rules.push_back({DecodeTile{kWgmmaRows, kWgmmaSlice, stages}, blocks});
  }
  return rules;
}

}  // namespace

const DecodeFamily kAttentionDecodeWgmma = {
    "attention_decode_wgmma", gap_of_wgmma,   wgmma_preferred, "on an H200 0.86 of attention_decode's time",
    tiles_of_wgmma,           block_of_wgmma,
};

}  // namespace cubinet
