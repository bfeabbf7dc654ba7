// SPDX-License-Identifier: Apache-2.0
// The template `attention_decode`: portable, for head dims up to 256.
#include "decode_family.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::uint32_t kWarpRows = 16;
constexpr std::uint32_t kMaximumWarps = 8;  // the template's limit
constexpr std::uint32_t kMostStages = 6;

std::uint32_t widest_head(const AttentionProblem& problem) {
  return std::max(problem.head_dim_qk, problem.head_dim_v);
}

// Tokens that a warp takes at a time.
std::uint32_t slice_of(const AttentionProblem& problem, std::uint32_t tile_q) {
  return (tile_q == 64 || converts_kv(problem)) && problem.head_dim_v <= 128 ? 32 : 16;
}

std::string gap_of_decode(const AttentionProblem& problem, ComputeCapability) {
  if (!problem.is_mla_generation()) return "";
  return "latent attention (head dims 576/512) is not what attention_decode computes: K and V are two pools";
}

bool always_preferred(const AttentionProblem&, ComputeCapability) {
  return true;
}

DecodeBlock block_of_decode(const AttentionProblem& problem, const DecodeTile& tile) {
  DecodeBlock block;
  block.slice = slice_of(problem, tile.q);
  const std::uint32_t warps_kv = tile.kv / block.slice;
  const std::uint32_t ring = tile.stages * tile.kv * kv_row_bytes(problem);
  const std::uint32_t merge = tile.q * warps_kv * (problem.head_dim_v + 10) * 4;
  const std::uint32_t q_scales = converts_kv(problem) ? tile.q * 4 : 0;
  block.threads = 32 * (tile.q / kWarpRows) * warps_kv;
  block.shared_bytes = tile.q * problem.head_dim_qk * kProductBytes + std::max(ring, merge) + q_scales;
  block.registers = widest_head(problem) <= 64 ? 128 : 255;
  return block;
}

// Of elements of eight bits more than 64 KiB under way are a little slower, unless fewer would let a third
// block in.
std::uint32_t most_stages(const AttentionProblem& problem, std::uint32_t kv) {
  if (!converts_kv(problem) || widest_head(problem) <= 64) return kMostStages;
  return std::clamp(64 * 1024 / (kv * kv_row_bytes(problem)), 2U, kMostStages);
}

// The deepest ring of which two blocks share a multiprocessor, else of which one fits. One block starts and
// ends beside another's stream, and 64 KiB to 96 KiB under way are what keeps memory busy.
std::vector<DecodeTileWish> tiles_of_decode(const AttentionProblem& problem) {
  std::vector<DecodeTileWish> wishes;
  // Steps of 32 KiB: 128 tokens of head dim 64, 64 of 128, 32 of 256, of 16 bits each.
  std::uint32_t preferred = 128;
  while (preferred > 16 && preferred * kv_row_bytes(problem) > 32 * 1024)
    preferred /= 2;
  for (std::uint32_t q = smallest_tile_q(problem); q >= 16; q /= 2) {
    const std::uint32_t slice = slice_of(problem, q);
    // Where eight warps that take twice the tokens have the registers of a multiprocessor to themselves,
    // two blocks of four, which do not wait for each other, are faster.
    const std::uint32_t warps = slice == 32 && widest_head(problem) > 64 ? 4 : kMaximumWarps;
    for (std::uint32_t kv = std::min(preferred, warps * kWarpRows / q * slice); kv >= slice; kv /= 2) {
      for (const std::uint32_t blocks : {2U, 1U}) {
        for (std::uint32_t stages = most_stages(problem, kv); stages >= 2; --stages)
          wishes.push_back({{q, kv, stages}, blocks});
      }
    }
  }
  return wishes;
}

}  // namespace

const DecodeFamily kAttentionDecode = {
    "attention_decode", gap_of_decode,
    always_preferred,   "the only one of its head dims that runs everywhere",
    tiles_of_decode,    block_of_decode,
};

}  // namespace cubinet
