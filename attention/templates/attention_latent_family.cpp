// SPDX-License-Identifier: Apache-2.0
// The template `attention_latent`: latent attention on Hopper.
#include "decode_family.hpp"

namespace cubinet {
namespace {

constexpr ComputeCapability kLatentDevice{9, 0};
constexpr std::uint32_t kLatentSlice = 32;
constexpr std::uint32_t kLatentRowBytes = 576 * 2;  // of Q and of KV
constexpr std::uint32_t kMostLatentStages = 5;

std::string gap_of_latent(const AttentionProblem&, ComputeCapability device) {
  if (device == kLatentDevice) return "";
  return "attention_latent has instructions of devices of " + kLatentDevice.to_string() + " alone";
}

bool latent_preferred(const AttentionProblem&, ComputeCapability device) {
  return device == kLatentDevice;
}

DecodeBlock block_of_latent(const AttentionProblem&, const DecodeTile& tile) {
  DecodeBlock block;
  block.threads = 512;
  block.shared_bytes = tile.q * kLatentRowBytes + tile.stages * (tile.kv * kLatentRowBytes + 16) + 9272;
  block.registers = 128;
  block.slice = kLatentSlice;
  return block;
}

// As few tiles as the rows need, and the deepest ring that fits beside one.
std::vector<DecodeTileWish> tiles_of_latent(const AttentionProblem& problem) {
  const std::uint64_t rows = std::uint64_t{problem.group_size()} * problem.q_len;
  const std::uint32_t q = rows <= 16 ? 16 : rows <= 32 ? 32 : 64;
  std::vector<DecodeTileWish> wishes;
  for (std::uint32_t stages = q == 64 ? kMostLatentStages - 1 : kMostLatentStages; stages >= 2; --stages)
    wishes.push_back({{q, kLatentSlice, stages}, 1});
  return wishes;
}

}  // namespace

const DecodeFamily kAttentionLatent = {
    "attention_latent", gap_of_latent, latent_preferred, "measured", tiles_of_latent, block_of_latent,
};

}  // namespace cubinet
