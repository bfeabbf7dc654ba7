// SPDX-License-Identifier: Apache-2.0
// The template `attention_latent_narrow`: latent attention of few rows on Hopper.
#include "decode_family.hpp"

namespace cubinet {
namespace {

constexpr ComputeCapability kNarrowDevice{9, 0};
constexpr std::uint32_t kNarrowRows = 16;
constexpr std::uint32_t kNarrowStep = 64;

std::string gap_of_narrow(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kNarrowDevice)
    return "attention_latent_narrow has instructions of devices of " + kNarrowDevice.to_string() + " alone";
  if (problem.heads_kv != 1) return "attention_latent_narrow has one KV head";
  return "";
}

bool narrow_preferred(const AttentionProblem& problem, ComputeCapability device) {
  return device == kNarrowDevice && problem.is_mla_generation() && rows_of_kv_head(problem) <= kNarrowRows;
}

// A slot of the ring holds one step, or a third of one for 16-bit elements. The rest of the shared
// memory is Q, scores, weights and factors of each row.
DecodeBlock block_of_narrow(const AttentionProblem& problem, const DecodeTile& tile) {
  const std::uint32_t step = kNarrowStep * kv_row_bytes(problem);
  const std::uint32_t place = converts_kv(problem) ? step : step / 3;
  DecodeBlock block;
  block.threads = 640;
  block.shared_bytes =
      tile.stages * (place + 16) + tile.q * (problem.head_dim_qk * kProductBytes + 820) + 168;
  block.registers = 96;
  block.slice = kNarrowStep;
  return block;
}

// Returns the tiles from the deepest ring to the shallowest; the first that fits is used.
std::vector<DecodeTileRule> tiles_of_narrow(const AttentionProblem& problem) {
  const bool converts = converts_kv(problem);
  std::vector<DecodeTileRule> rules;
  for (std::uint32_t stages = converts ? 5 : 8; stages >= (converts ? 2U : 4U); --stages)
    rules.push_back({{kNarrowRows, kNarrowStep, stages}, 1});
  return rules;
}

}  // namespace

const DecodeFamily kAttentionLatentNarrow = {
    "attention_latent_narrow",
    gap_of_narrow,
    narrow_preferred,
    "NVIDIA H200, 16 heads, batch 64, KV 8192: e4m3 84 us where attention_wide takes 118, bf16 149 and 153",
    tiles_of_narrow,
    block_of_narrow,
};

}  // namespace cubinet
