// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_latent`: latent attention on Hopper.
#include "decode_family.hpp"
#include "rounding.hpp"

namespace cubinet {
namespace attention_latent {

inline constexpr ComputeCapability kDevice{9, 0};
inline constexpr std::uint32_t kSlice = 64;
inline constexpr std::uint32_t kRowBytes = 576 * kProductBytes;
inline constexpr std::uint32_t kSharedBytesOfE4m3 = 222344;

inline std::string gap(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kDevice)
    return "attention_latent has instructions of devices of " + kDevice.to_string() + " alone";
  if (problem.heads_kv != 1) return "attention_latent has one KV head";
  return "";
}

inline bool preferred(const AttentionProblem& problem, ComputeCapability device) {
  return device == kDevice && problem.is_mla_generation() && rows_of_kv_head(problem) > 16;
}

// A short sequence may be faster in several of attention_latent_narrow's tiles.
inline bool is_compared(const AttentionProblem& problem) {
  return problem.is_mla_generation() && rows_of_kv_head(problem) > 16;
}

// Returns whether the scores are products of e4m3. Otherwise KV of e4m3 is converted for both
// products.
inline bool multiplies_e4m3(const AttentionProblem& problem) {
  return bits_of(problem.data_type_q) == 8;
}

// The shared memory holds Q, two slices as fp16 or bf16, whatever type KV has in memory, and the
// data that the warpgroups exchange. With Q of e4m3 the slices are as in memory, and V of one and a
// half is there as fp16, too.
inline DecodeBlock block(const AttentionProblem& problem, const DecodeTile& tile) {
  DecodeBlock block;
  // If the number of tiles is even, pairs of adjacent tiles of a sequence form clusters, whose CTAs
  // copy KV to each other, unless a slice has half of the bytes.
  const bool is_narrow = multiplies_e4m3(problem);
  block.cluster = !is_narrow && divide_up(problem.group_size() * problem.q_len, tile.q) % 2 == 0 ? 2 : 1;
  block.names_cluster = true;
  block.threads = 384;
  block.shared_bytes =
      is_narrow ? kSharedBytesOfE4m3
                : (tile.q + tile.stages * tile.kv) * kRowBytes + (converts_kv(problem) ? 256 : 0) + 9336;
  block.registers = 168;
  block.slice = kSlice;
  block.reader = KvReader::latent;
  return block;
}

// Returns the tile that needs the fewest tiles for the rows. The time of a tile hardly depends on
// its rows.
inline std::vector<DecodeCandidate> tiles(const AttentionProblem& problem) {
  return {{{smallest_tile_q(problem), kSlice, 2}}};
}

}  // namespace attention_latent

inline const DecodeFamily kAttentionLatent = {
    .name = "attention_latent",
    .gap = attention_latent::gap,
    .preferred = attention_latent::preferred,
    .source =
        "NVIDIA H200, batch 64, KV 8192: 245 to 257 us and 913 for 128 heads, 164 and 471 for 64; no "
        "faster for 16",
    .tiles = attention_latent::tiles,
    .block = attention_latent::block,
    .is_compared = attention_latent::is_compared,
};

}  // namespace cubinet
