// SPDX-License-Identifier: Apache-2.0
// The template `attention_latent`: latent attention on Hopper.
#include "decode_family.hpp"

namespace cubinet {
namespace {

constexpr ComputeCapability kLatentDevice{9, 0};
constexpr std::uint32_t kLatentSlice = 64;
constexpr std::uint32_t kLatentRowBytes = 576 * kProductBytes;

std::string gap_of_latent(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kLatentDevice)
    return "attention_latent has instructions of devices of " + kLatentDevice.to_string() + " alone";
  if (problem.heads_kv != 1) return "attention_latent has one KV head";
  return "";
}

bool latent_preferred(const AttentionProblem& problem, ComputeCapability device) {
  return device == kLatentDevice && problem.is_mla_generation() && rows_of_kv_head(problem) > 16;
}

// The shared memory holds two slices as fp16 or bf16, whatever type KV has in memory, and the data
// that the warpgroups exchange.
DecodeBlock block_of_latent(const AttentionProblem& problem, const DecodeTile& tile) {
  DecodeBlock block;
  // If the number of tiles is even, pairs of adjacent tiles of a sequence form clusters, whose CTAs
  // copy KV to each other.
  block.cluster = divide_up(problem.group_size() * problem.q_len, tile.q) % 2 == 0 ? 2 : 1;
  block.names_cluster = true;
  block.threads = 384;
  block.shared_bytes =
      (tile.q + tile.stages * tile.kv) * kLatentRowBytes + (converts_kv(problem) ? 256 : 0) + 9336;
  block.registers = 168;
  block.slice = kLatentSlice;
  return block;
}

// Returns the tile that needs the fewest tiles for the rows.
std::vector<DecodeTileRule> tiles_of_latent(const AttentionProblem& problem) {
  return {{{smallest_tile_q(problem), kLatentSlice, 2}, 1}};
}

}  // namespace

const DecodeFamily kAttentionLatent = {
    "attention_latent",
    gap_of_latent,
    latent_preferred,
    "NVIDIA H200, batch 64, KV 8192: 245 to 257 us and 913 for 128 heads, 164 and 471 for 64; no faster for "
    "16",
    tiles_of_latent,
    block_of_latent,
};

}  // namespace cubinet
