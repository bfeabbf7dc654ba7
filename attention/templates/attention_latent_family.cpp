// SPDX-License-Identifier: Apache-2.0
// The template `attention_latent`: latent attention on Hopper.
#include "decode_family.hpp"

namespace cubinet {
namespace {

constexpr ComputeCapability kLatentDevice{9, 0};
constexpr std::uint32_t kLatentSlice = 32;
constexpr std::uint32_t kLatentRowBytes = 576 * kProductBytes;

std::string gap_of_latent(const AttentionProblem&, ComputeCapability device) {
  if (device == kLatentDevice) return "";
  return "attention_latent has instructions of devices of " + kLatentDevice.to_string() + " alone";
}

bool latent_preferred(const AttentionProblem& problem, ComputeCapability device) {
  return device == kLatentDevice && problem.is_mla_generation() && rows_of_kv_head(problem) > 16;
}

// The places of the ring and, where KV is converted, those of what it becomes.
DecodeBlock block_of_latent(const AttentionProblem& problem, const DecodeTile& tile) {
  const bool converts = converts_kv(problem);
  const std::uint32_t places = !converts ? tile.stages : tile.q == 64 ? 2 : 3;
  DecodeBlock block;
  block.threads = 512;
  block.shared_bytes = tile.q * kLatentRowBytes + places * (tile.kv * kLatentRowBytes + 16) +
                       (converts ? tile.stages * tile.kv * kLatentRowBytes / 2 + 256 : 0) + 9272;
  block.registers = 128;
  block.slice = kLatentSlice;
  return block;
}

// As few tiles as the rows need, and the deepest ring that fits beside one.
std::vector<DecodeTileWish> tiles_of_latent(const AttentionProblem& problem) {
  const std::uint32_t q = smallest_tile_q(problem);
  std::vector<DecodeTileWish> wishes;
  for (std::uint32_t stages = q == 64 || (q == 32 && converts_kv(problem)) ? 4 : 5; stages >= 2; --stages)
    wishes.push_back({{q, kLatentSlice, stages}, 1});
  return wishes;
}

}  // namespace

const DecodeFamily kAttentionLatent = {
    "attention_latent",
    gap_of_latent,
    latent_preferred,
    "NVIDIA H200, batch 64, KV 8192: 279 to 288 us and 913 for 128 heads, 171 to 193 and 471 for 64; no "
    "faster for 16",
    tiles_of_latent,
    block_of_latent,
};

}  // namespace cubinet
