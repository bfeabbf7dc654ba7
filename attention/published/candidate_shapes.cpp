// SPDX-License-Identifier: Apache-2.0
#include "candidate_shapes.hpp"

#include "rounding.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>

namespace cubinet {
namespace {

constexpr std::uint16_t kLargestTile = 128;
constexpr std::uint16_t kSmallestTile = 8;
constexpr std::uint16_t kLargestSwapsTile = 32;
constexpr std::uint16_t kMlaKeepsTile = 64;
constexpr std::uint32_t kMlaTwoCtaGroup = 128;
constexpr std::uint32_t kMlaSwapsGroup = 32;
constexpr std::uint32_t kMlaSplitTokens = 256;
constexpr std::uint32_t kMlaSwapsTile = 16;
constexpr std::uint16_t kWideColumns = 256;    // the most columns of V that a wide kernel produces
constexpr std::uint32_t kSparseTokens = 128;   // KV tokens of a sparse kernel's step
constexpr std::uint32_t kHalfTileTokens = 16;  // the most query tokens for half a sparse tile
constexpr std::uint32_t kGroupedMlaBatch = 16;
constexpr std::uint32_t kGroupedMlaPage = 32;

KernelType type_of(std::uint32_t tile) {
  return tile > kLargestSwapsTile ? KernelType::keeps_mma_ab : KernelType::swaps_mma_ab;
}

// Returns whether enough CTAs with few rows each keep the device busy and their shares of KV short.
bool mla_swaps_pays(const AttentionProblem& problem, std::uint32_t sm_count, std::uint32_t tokens) {
  const std::uint64_t splits = divide_up(problem.kv_len, kMlaSplitTokens);
  const std::uint64_t groups = divide_up(problem.group_size(), kMlaSwapsTile);
  const std::uint64_t ctas = std::uint64_t{problem.batch} * problem.q_len * groups;
  const std::uint64_t per_sequence = std::min(splits, std::max<std::uint64_t>(1, sm_count / ctas));
  return divide_up(problem.kv_len, per_sequence) <= tokens && ctas <= sm_count;
}

// Returns the one tile that holds a group which cannot be divided into tiles, or 0 if the other
// rules choose.
std::uint16_t fitted_mla_tile(std::uint32_t group, const SelectionRules& rules) {
  if (!rules.fits_latent_tile_to_group || group > kMlaKeepsTile || std::has_single_bit(group)) return 0;
  return std::max<std::uint16_t>(kSmallestTile, static_cast<std::uint16_t>(std::bit_ceil(group)));
}

// Returns whether query tokens of latent attention share a tile.
bool groups_mla_tokens(const AttentionProblem& problem, const SelectionRules& rules) {
  const std::uint32_t group = problem.group_size();
  const bool types = problem.data_type_o == DataType::bf16 && problem.data_type_k == problem.data_type_q &&
                     problem.data_type_v == problem.data_type_q &&
                     (problem.data_type_q == DataType::bf16 || problem.data_type_q == DataType::e4m3);
  return rules.groups_latent_tokens && types && problem.sparse == SparseAttention::none &&
         problem.q_len > 1 && problem.batch <= kGroupedMlaBatch &&
         problem.tokens_per_page == kGroupedMlaPage && (group == 8 || group == 16 || group == 32);
}

// Returns the shape in which query tokens share a tile. The fewer tiles there are, the more CTAs
// share the columns of V.
Shape grouped_mla_shape(const AttentionProblem& problem) {
  const std::uint64_t rows = std::uint64_t{problem.q_len} * problem.group_size();
  const std::uint64_t ctas = problem.batch * problem.heads_kv * divide_up(rows, kMlaKeepsTile);
  const std::uint16_t columns = ctas <= 1 ? 128 : ctas <= 4 ? 256 : 512;
  return {KernelType::keeps_mma_ab, kMlaKeepsTile, columns, false, true};
}

// Returns the preferred shape of sparse latent attention.
Shape sparse_mla_shape(const AttentionProblem& problem, std::uint32_t sm_count, const SelectionRules& rules) {
  const std::uint32_t group = problem.group_size();
  const std::uint16_t fitted = fitted_mla_tile(group, rules);
  if (group > kMlaSwapsGroup) {
    // A pair pays for several query tokens, or if there are enough CTAs.
    const bool many = std::uint64_t{problem.batch} * (group / kMlaKeepsTile) * 8 > sm_count;
    if (group == kMlaTwoCtaGroup && (problem.q_len > 1 || many))
      return {KernelType::keeps_mma_ab, kMlaKeepsTile, 256, true};
    return {KernelType::keeps_mma_ab, kMlaKeepsTile, 512, false};
  }
  if (fitted != 0) return {KernelType::swaps_mma_ab, fitted, 512, false};
  const std::uint64_t steps = divide_up(std::min(problem.kv_len, problem.top_k), kSparseTokens);
  const bool few = problem.batch * steps <= sm_count / 8 &&
                   (!rules.halves_short_sparse_tiles || problem.q_len <= kHalfTileTokens);
  const std::uint32_t tile = few ? group / 2 : group;
  return {KernelType::swaps_mma_ab, static_cast<std::uint16_t>(std::max<std::uint32_t>(kSmallestTile, tile)),
          512, false};
}

// Adds the shape with fewer columns of V per CTA as a fallback for tables without a kernel for the
// whole head dim. It needs more CTAs and gives the same result.
void add_with_splits(CandidateShapes& list, Shape shape, std::uint32_t head_dim_v) {
  shape.head_dim_per_cta_v = static_cast<std::uint16_t>(head_dim_v);
  list.add(shape);
  for (const std::uint16_t part : {std::uint16_t{256}, std::uint16_t{128}}) {
    if (part >= head_dim_v || head_dim_v % part != 0) continue;
    shape.head_dim_per_cta_v = part;
    list.add(shape);
  }
}

CandidateShapes mla_shapes(const AttentionProblem& problem, std::uint32_t sm_count,
                           std::uint32_t swaps_tokens, const SelectionRules& rules) {
  CandidateShapes list;
  const std::uint32_t group = problem.group_size();
  const bool sparse = problem.sparse != SparseAttention::none;
  const std::uint16_t fitted = fitted_mla_tile(group, rules);
  if (groups_mla_tokens(problem, rules)) list.add(grouped_mla_shape(problem));
  const bool by_group = sparse && rules.tiles_sparse_latent_by_group;
  if (by_group) {
    const Shape shape = sparse_mla_shape(problem, sm_count, rules);
    if (shape.two_cta) {
      list.add(shape);
    } else {
      add_with_splits(list, shape, problem.head_dim_v);
    }
  }
  const bool swaps = fitted != 0 ? fitted <= kLargestSwapsTile
                                 : group <= kMlaSwapsGroup || (sparse && group < kMlaTwoCtaGroup) ||
                                       mla_swaps_pays(problem, sm_count, swaps_tokens);
  const bool may_keep = !sparse || by_group || group == kMlaTwoCtaGroup;
  const auto add_keeps = [&] {
    if (!may_keep) return;
    const Shape keeps{KernelType::keeps_mma_ab, kMlaKeepsTile, 512, false};
    if (group == kMlaTwoCtaGroup) list.add({keeps.type, keeps.tile_size_q, 256, true});
    add_with_splits(list, keeps, problem.head_dim_v);
  };
  const auto add_swaps = [&](std::initializer_list<std::uint16_t> tiles) {
    for (const std::uint16_t tile : tiles)
      add_with_splits(list, {KernelType::swaps_mma_ab, tile, 512, false}, problem.head_dim_v);
  };
  if (!swaps) add_keeps();
  if (fitted == kLargestSwapsTile) {
    add_swaps({32, 16, 8});
  } else if (group <= kSmallestTile) {
    add_swaps({8, 16, 32});
  } else {
    add_swaps({16, 32, 8});
  }
  if (swaps) add_keeps();
  return list;
}

// Returns the tiles of grouped-query generation. The default is the smallest tile that holds all
// rows of one KV head. The model compares the smaller ones down to the group size. Tiles above the
// default waste rows, and tiles below the group size read KV several times: both are fallbacks
// only.
CandidateShapes gqa_shapes(const AttentionProblem& problem, const SelectionRules& rules) {
  CandidateShapes list;
  const std::uint32_t group = problem.group_size();
  const bool mixed = is_mixed_precision(problem, rules);
  const std::uint64_t rows = mixed ? (group <= 8 ? 8 : 16) : std::uint64_t{group} * problem.q_len;
  const std::uint32_t largest = mixed ? kLargestSwapsTile : kLargestTile;
  std::uint32_t standard = kSmallestTile;
  while (standard < rows && standard < kLargestTile)
    standard *= 2;
  const auto add = [&](std::uint32_t tile) {
    const KernelType type = type_of(tile);
    list.add(
        {type, static_cast<std::uint16_t>(tile),
         splits_wide(problem, type, rules) ? kWideColumns : static_cast<std::uint16_t>(problem.head_dim_v),
         false});
  };
  const std::uint32_t smallest = std::max<std::uint32_t>(kSmallestTile, group);
  add(standard);
  if (!mixed && problem.q_len > 1) {
    for (std::uint32_t tile = standard / 2; tile >= smallest; tile /= 2)
      add(tile);
  }
  // The model does not cover the smallest tile, or tiles that do not hold a group.
  const bool modelled = !mixed && problem.q_len > 1 && standard > kSmallestTile && standard >= group;
  list.compared = modelled ? list.count : 0;
  for (std::uint32_t tile = standard * 2; tile <= largest; tile *= 2)
    add(tile);
  for (std::uint32_t tile = standard / 2; tile >= kSmallestTile; tile /= 2) {
    if (mixed || problem.q_len == 1 || tile < smallest) add(tile);
  }
  // The last fallbacks split the columns of V.
  const std::size_t whole = list.count;
  for (std::size_t i = 0; i < whole; ++i) {
    CandidateShapes parts;
    add_with_splits(parts, list.shapes[i], problem.head_dim_v);
    for (std::size_t part = 1; part < parts.count; ++part)
      list.add(parts.shapes[part]);
  }
  return list;
}

}  // namespace

bool splits_wide(const AttentionProblem& problem, KernelType type, const SelectionRules& rules) {
  return rules.splits_wide_keeps && type == KernelType::keeps_mma_ab && !problem.is_mla_generation() &&
         problem.head_dim_v > kWideColumns;
}

bool is_mixed_precision(const AttentionProblem& problem, const SelectionRules& rules) {
  return problem.data_type_q != problem.data_type_k || problem.data_type_q != problem.data_type_v ||
         (problem.data_type_o == DataType::e2m1 && !rules.groups_tokens_of_e2m1_output);
}

CandidateShapes candidate_shapes(const AttentionProblem& problem, std::uint32_t sm_count,
                                 std::uint32_t mla_swaps_tokens, const SelectionRules& rules) {
  if (problem.is_mla_generation()) return mla_shapes(problem, sm_count, mla_swaps_tokens, rules);
  if (problem.is_generation()) return gqa_shapes(problem, rules);
  CandidateShapes list;
  add_with_splits(list, {KernelType::context, kLargestTile, 0, false}, problem.head_dim_v);
  return list;
}

}  // namespace cubinet
