// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_latent_narrow`: latent attention of few rows on Hopper.
#include "decode_family.hpp"

namespace cubinet {
namespace attention_latent_narrow {

inline constexpr ComputeCapability kDevice{9, 0};
inline constexpr std::uint32_t kRows = 16;
inline constexpr std::uint32_t kStep = 64;

inline std::string gap(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kDevice)
    return "attention_latent_narrow has instructions of devices of " + kDevice.to_string() + " alone";
  if (problem.heads_kv != 1) return "attention_latent_narrow has one KV head";
  return "";
}

inline bool preferred(const AttentionProblem& problem, ComputeCapability device) {
  return device == kDevice && problem.is_mla_generation() && rows_of_kv_head(problem) <= kRows;
}

inline bool is_compared(const AttentionProblem& problem) {
  return problem.is_mla_generation() && rows_of_kv_head(problem) > kRows;
}

// A slot of the ring holds one step, or a third of one for 16-bit elements. The rest of the shared
// memory is Q, scores, weights and factors of each row.
inline DecodeBlock block(const AttentionProblem& problem, const DecodeTile& tile) {
  const std::uint32_t step = kStep * kv_row_bytes(problem);
  const std::uint32_t place = converts_kv(problem) ? step : step / 3;
  DecodeBlock block;
  block.threads = 640;
  block.shared_bytes =
      tile.stages * (place + 16) + tile.q * (problem.head_dim_qk * kProductBytes + 820) + 168;
  block.registers = 96;
  block.slice = kStep;
  block.reader = KvReader::latent_narrow;
  return block;
}

// Returns the tiles from the deepest ring to the shallowest.
inline std::vector<DecodeCandidate> tiles(const AttentionProblem& problem) {
  const bool converts = converts_kv(problem);
  std::vector<DecodeCandidate> candidates;
  for (std::uint32_t stages = converts ? 5 : 8; stages >= (converts ? 2U : 4U); --stages)
    candidates.push_back({{kRows, kStep, stages}});
  return candidates;
}

}  // namespace attention_latent_narrow

inline const DecodeFamily kAttentionLatentNarrow = {
    .name = "attention_latent_narrow",
    .gap = attention_latent_narrow::gap,
    .preferred = attention_latent_narrow::preferred,
    .source =
        "NVIDIA H200, 16 heads, batch 64, KV 8192: e4m3 84 us where attention_wide takes 118, bf16 149 and "
        "153",
    .tiles = attention_latent_narrow::tiles,
    .block = attention_latent_narrow::block,
    .is_compared = attention_latent_narrow::is_compared,
};

}  // namespace cubinet
