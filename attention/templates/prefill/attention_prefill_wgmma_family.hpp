// SPDX-License-Identifier: Apache-2.0
#pragma once
// The template `attention_prefill_wgmma`: Hopper.
#include "prefill_family.hpp"
#include "rounding.hpp"
#include "templates/decode/decode_family.hpp"

namespace cubinet {
namespace attention_prefill_wgmma {

inline constexpr ComputeCapability kDevice{9, 0};

inline std::string gap(const AttentionProblem& problem, ComputeCapability device) {
  if (device != kDevice)
    return "attention_prefill_wgmma has instructions of devices of " + kDevice.to_string() + " alone";
  if (problem.layout == QkvLayout::paged_kv && problem.tokens_per_page % 8 != 0)
    return "attention_prefill_wgmma copies groups of 8 tokens, and the pages have " +
           std::to_string(problem.tokens_per_page);
  const bool is_narrow = problem.data_type_q == DataType::e4m3;
  if (converts_kv(problem) != is_narrow)
    return "attention_prefill_wgmma multiplies KV as it is, of the type of Q";
  if (problem.data_type_o == DataType::e4m3 && !is_narrow)
    return "attention_prefill_wgmma has an output of e4m3 if Q is e4m3";
  const std::string has = ", and the problem has " + std::to_string(problem.head_dim_qk);
  if (is_narrow && problem.head_dim_qk != 64 && problem.head_dim_qk != 128)
    return "attention_prefill_wgmma has head dims 64 and 128 of e4m3" + has;
  if (problem.is_invariant() && is_narrow)
    return "attention_prefill_wgmma has invariant numerics for Q, K and V of 16 bits";
  if (problem.is_invariant() && problem.head_dim_v > 128)
    return "attention_prefill_wgmma has invariant numerics for head dims of V up to 128";
  return "";
}

inline bool preferred(const AttentionProblem& problem, ComputeCapability device) {
  return gap(problem, device).empty();
}

// Returns the heads that share a tile: those of a group, or one. A tile of one head has q_len rows
// at most, so short prompts fill it with several heads. Ragged batches may have short sequences
// whatever q_len is, so they do the same if a tile loses at most a sixteenth of its rows. With a
// window, the tiles of a cluster have two heads if a group has: both then see the same steps.
inline std::uint32_t tile_heads(const AttentionProblem& problem, const PrefillTile& tile) {
  const std::uint32_t group = problem.group_size();
  const bool is_short = problem.q_len < 2 * tile.q && group <= tile.q;
  const bool may_be_short = problem.ragged_q && tile.q % group <= tile.q / 16;
  if (is_short || may_be_short) return group;
  return problem.is_sliding() && group % tile.cluster == 0 ? tile.cluster : 1;
}

// Returns the columns of the output whose folded copy is in shared memory.
inline std::uint32_t folded_columns(const AttentionProblem& problem, const PrefillTile& tile) {
  if (tile.q == 192) return problem.is_invariant() || tile.fold_steps > 0 ? problem.head_dim_v : 0;
  if (!problem.is_invariant() || problem.head_dim_v < 128) return 0;
  return problem.head_dim_qk > 128 ? 32 : 64;
}

inline PrefillBlock block(const AttentionProblem& problem, const PrefillTile& tile) {
  constexpr std::uint32_t kRowBytes = 128;   // of a block of columns
  constexpr std::uint32_t kTileBytes = 224;  // four slots of tiles, with their barriers and claims
  const bool is_narrow = problem.data_type_q == DataType::e4m3;
  const std::uint32_t block_columns = is_narrow ? 128 : 64;
  const auto blocks = [&](std::uint32_t columns) { return divide_up(columns, block_columns); };
  const std::uint32_t parts = divide_up(problem.head_dim_qk, 64U) + divide_up(problem.head_dim_v, 64U);
  const std::uint32_t q_stages = parts * tile.kv <= 512 ? 2 : 1;
  // A stage of K and V, with its barriers. V of e4m3 is also stored transposed, in blocks of
  // tokens.
  std::uint32_t stage = tile.kv * (blocks(problem.head_dim_qk) + blocks(problem.head_dim_v)) * kRowBytes + 40;
  if (is_narrow) stage += blocks(tile.kv) * problem.head_dim_v * kRowBytes + 8;
  PrefillBlock block;
  block.threads = 2 * tile.q + 128;
  block.registers = tile.q == 128 ? 168 : 128;
  block.tile_heads = tile_heads(problem, tile);
  const std::uint32_t folded = tile.q * folded_columns(problem, tile) * 4;
  block.shared_bytes = folded + q_stages * tile.q * (blocks(problem.head_dim_qk) * kRowBytes) +
                       tile.stages * stage + kTileBytes + q_stages * tile.q / 4;
  return block;
}

// Returns the tiles of e4m3. The tensor cores keep 14 bits of a sum of its products, so the output
// is folded every four steps. A thread of two consumers has registers for both copies of it, but
// not for soft caps and steps of 128 tokens besides. With three consumers one copy is in shared
// memory.
inline std::vector<PrefillTile> narrow_tiles(const AttentionProblem& problem) {
  constexpr std::uint32_t kFoldSteps = 4;
  if (problem.head_dim_qk == 128) return {{128, problem.soft_cap ? 96U : 128U, 2, kFoldSteps}};
  return {{192, 128, 2, kFoldSteps}, {128, 128, 2, kFoldSteps}};
}

// Returns the tiles of e4m3 that fold less often, or never. Without the second copy of the output,
// steps are longer. An output of e4m3 has none, because its rounding would hide from the tuner what
// they lose.
inline std::vector<PrefillTile> tiles_of_other_error(const AttentionProblem& problem) {
  if (problem.data_type_q != DataType::e4m3 || problem.data_type_o == DataType::e4m3) return {};
  PrefillTile rarely = narrow_tiles(problem).front();
  rarely.fold_steps = 8;
  const bool plain = !problem.soft_cap && !problem.is_sliding();
  if (!plain || problem.layout == QkvLayout::paged_kv) return {rarely};
  return {rarely, problem.head_dim_qk == 64 ? PrefillTile{192, 160, 2} : PrefillTile{128, 224, 2}};
}

// Returns whether tiles of a cluster may be faster: all sequences are prompts with as many query
// tokens, of more than one tile. Kernels of e4m3 and of invariant numerics lack the registers for
// windows and soft caps.
inline bool may_have_clusters(const AttentionProblem& problem, const PrefillTile& tile) {
  const std::uint64_t rows = std::uint64_t{problem.q_len} * tile_heads(problem, tile);
  const bool plain = !problem.soft_cap && !problem.is_sliding();
  if ((problem.data_type_q == DataType::e4m3 || problem.is_invariant()) && !plain) return false;
  return tile.q == 128 && !problem.ragged_q && !problem.is_generation() && rows > tile.q;
}

// Returns the tiles, and after each of them that of a cluster if it may be faster: not if tiles of
// 192 rows, which have no clusters, precede it.
inline std::vector<PrefillTile> with_clusters(const AttentionProblem& problem,
                                              const std::vector<PrefillTile>& tiles) {
  std::vector<PrefillTile> all;
  for (const PrefillTile& tile : tiles) {
    all.push_back(tile);
    if (tiles.front().q != tile.q || !may_have_clusters(problem, tile)) continue;
    all.push_back(tile);
    all.back().cluster = 2;
  }
  return all;
}

// Returns the tiles with invariant numerics, all of which give the same bits. Three
// consumers have no registers for a soft cap.
inline std::vector<PrefillTile> invariant_tiles(const AttentionProblem& problem) {
  if (problem.head_dim_qk == 64 && !problem.soft_cap) return {{192, 128, 2}, {128, 128, 2}};
  return {{128, 128, 2}};
}

// Returns the tiles of head dims between 64 and 128, whose rows are padded to 128 columns. Three
// consumers have registers for steps of 112 tokens, and of 96 with soft caps; two have them for
// 192. Steps of 112 tokens would have boxes of 16 tokens of pages.
inline std::vector<PrefillTile> padded_tiles(const AttentionProblem& problem) {
  const bool plain = !problem.soft_cap && !problem.is_sliding();
  if (!plain || problem.layout == QkvLayout::paged_kv) return {{192, 96, 2}, {128, 128, 2}};
  return {{192, 112, 2}, {128, 192, 2}, {128, 128, 2}};
}

// The largest tiles whose accumulators fit the registers. Soft caps and windows need some more.
// Longer steps are faster for long contiguous KV. They are slower for pages, whose boxes would have
// 16 tokens.
inline std::vector<PrefillTile> tiles_without_clusters(const AttentionProblem& problem) {
  if (problem.is_invariant()) return invariant_tiles(problem);
  if (problem.data_type_q == DataType::e4m3) return narrow_tiles(problem);
  const bool plain = !problem.soft_cap && !problem.is_sliding();
  if (problem.head_dim_qk > 64 && problem.head_dim_qk < 128) return padded_tiles(problem);
  if (problem.head_dim_qk == 64 && plain) return {{192, 128, 2}, {128, 128, 2}};
  if (problem.head_dim_qk == 256) return {{128, 80, 2}};
  if (problem.head_dim_qk == 128 && plain && problem.layout != QkvLayout::paged_kv)
    return {{128, 176, 2}, {128, 128, 2}};
  return {{128, 128, 2}};
}

inline std::vector<PrefillTile> tiles(const AttentionProblem& problem) {
  return with_clusters(problem, tiles_without_clusters(problem));
}

}  // namespace attention_prefill_wgmma

inline const PrefillFamily kAttentionPrefillWgmma = {
    .name = "attention_prefill_wgmma",
    .gap = attention_prefill_wgmma::gap,
    .preferred = attention_prefill_wgmma::preferred,
    .source = "docs/kernels/attention_prefill_wgmma.md",
    .tiles = attention_prefill_wgmma::tiles,
    .block = attention_prefill_wgmma::block,
    .has_maps = true,
    .has_numerics = true,
    .has_splits = true,
    .tiles_of_other_error = attention_prefill_wgmma::tiles_of_other_error,
    .has_folds = true,
    .has_clusters = true,
    .reader = KvReader::warpgroups,
};

}  // namespace cubinet
