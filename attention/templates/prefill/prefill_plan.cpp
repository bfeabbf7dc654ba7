// SPDX-License-Identifier: Apache-2.0
#include "prefill_plan.hpp"

#include "prefill_maps.hpp"
#include "prefill_order.hpp"
#include "prefill_parameters.hpp"
#include "rounding.hpp"
#include "size_limits.hpp"
#include "templates/decode/decode_family.hpp"

#include <cubinet/kernel_templates/fast_divisor.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace cubinet {
namespace {

// The bytes of the shared memory of every CTA that the driver reserves, which an SM has in addition
// to the most that a CTA may use.
constexpr std::uint32_t kReservedBytes = 1024;
constexpr std::uint32_t kRegistersOfSm = 65536;
// The part of the time by which a later tile must be faster than the best earlier one.
constexpr double kLeastTileGain = 0.01;

struct PrefillChoice {
  PrefillTile tile;
  PrefillBlock block;
  PrefillSplits splits;
  std::uint32_t blocks_per_multiprocessor = 1;
  KernelCost cost;
};

Result<void> check_prefill_limits(const PlanRequest& request) {
  const AttentionProblem& problem = request.problem;
  if (problem.kv_len > kMaximumPrefillKv) {
    return Error{ErrorCode::invalid_argument, "`AttentionProblem::kv_len` is " +
                                                  std::to_string(problem.kv_len) + ", but must be at most " +
                                                  std::to_string(kMaximumPrefillKv)};
  }
  // The first token of a sequence is an int32, as the offsets of ragged tokens are.
  if (!problem.ragged_q && query_tokens(problem) > kLargestCount) {
    return Error{ErrorCode::invalid_argument,
                 "`AttentionProblem::batch` " + std::to_string(problem.batch) +
                     " times `AttentionProblem::q_len` " + std::to_string(problem.q_len) +
                     " is more than 2^31 - 1; plan fewer query tokens at a time"};
  }
  // The rows of a KV head are counted in 32 bits.
  if (saturating_product(problem.q_len, problem.heads_q) > kLargestCount) {
    return Error{ErrorCode::invalid_argument,
                 "`AttentionProblem::q_len` " + std::to_string(problem.q_len) +
                     " times `AttentionProblem::heads_q` " + std::to_string(problem.heads_q) +
                     " is more than 2^31 - 1; plan fewer query tokens at a time"};
  }
  return {};
}

// Returns the KV tokens that a tile of `tokens` query tokens of a sequence of this length reads, on
// average, at most and at least. Counts whole steps.
struct TileTokens {
  double average = 0;
  double most = 0;
  double least = 0;
};
TileTokens tokens_of_tile(const AttentionProblem& problem, const PrefillTile& tile, double tokens,
                          double length) {
  const double q_len = std::min<double>(problem.q_len, length);
  TileTokens read{length, length, length};
  if (problem.mask == AttentionMask::causal) {
    read.average = length - q_len + std::min(q_len, (q_len + tokens) / 2);
    read.least = length - q_len + std::min(q_len, tokens);
  }
  if (problem.is_sliding()) {
    const double seen = double{static_cast<double>(problem.window)} + tokens;
    read = {std::min(read.average, seen), std::min(read.most, seen), std::min(read.least, seen)};
  }
  read.average += tile.kv / 2.0;
  read.most += tile.kv / 2.0;
  return read;
}

// Returns the part of the products' time of full tiles that tiles of the problem take. The 64 rows
// of a warpgroup that has none are not multiplied, but its part of a step's loads and barriers
// remains.
double filled_part(const AttentionProblem& problem, const PrefillFamily& family,
                   const PrefillChoice& choice) {
  constexpr std::uint32_t kRowsOfConsumer = 64;
  constexpr double kOfLoads = 0.2;
  if (family.reader != KvReader::warpgroups) return 1;
  const std::uint64_t rows = std::uint64_t{problem.q_len} * choice.block.tile_heads;
  const std::uint64_t all = choice.tile.q / kRowsOfConsumer;
  const auto working = static_cast<double>(std::min(divide_up(rows, std::uint64_t{kRowsOfConsumer}), all));
  return kOfLoads + (1 - kOfLoads) * working / static_cast<double>(all);
}

KernelCost cost_of(const PlanRequest& request, const PrefillFamily& family, const PrefillChoice& choice) {
  const AttentionProblem& problem = request.problem;
  const double rows_at_once = static_cast<double>(choice.tile.q) * choice.tile.cluster;
  const double tokens = std::max(1.0, rows_at_once / choice.block.tile_heads);
  const double columns =
      problem.head_dim_qk + static_cast<double>(problem.head_dim_v) / choice.block.column_parts;
  const double operations = 2.0 * choice.tile.q * columns * filled_part(problem, family, choice);
  KernelWork work;
  work.cost_class = CostClass::products;
  work.implementation = family.name;
  work.device = request.device.capability;
  work.multiprocessors = request.device.sm_count;
  work.blocks_per_multiprocessor = choice.blocks_per_multiprocessor;
  work.tile_size_q = choice.tile.q;
  work.cluster = choice.tile.cluster;
  work.warps = choice.block.threads / 32;
  work.element_bits = static_cast<std::uint32_t>(bits_of(problem.data_type_k));
  work.reader = family.reader;
  work.splits = choice.splits.count;
  const auto tiles = static_cast<double>(prefill_tiles(problem, choice.tile, choice.block));
  const double row_bytes = static_cast<double>(problem.head_dim_v) * sizeof(float);
  const auto add = [&](double length, double share) {
    const TileTokens read = tokens_of_tile(problem, choice.tile, tokens, length);
    const double of_split = choice.splits.tokens == 0 ? read.most : choice.splits.tokens;
    const double splits = std::max(1.0, std::ceil((read.average - choice.tile.kv / 2.0) / of_split));
    work.blocks += share * tiles * splits;
    work.operations += share * tiles * operations * read.average;
    work.largest_block_operations =
        std::max(work.largest_block_operations, operations * std::min(read.most, of_split));
    const double smallest = operations * std::min(read.least, read.average / splits);
    work.smallest_block_operations =
        work.smallest_block_operations == 0 ? smallest : std::min(work.smallest_block_operations, smallest);
    work.partial_bytes += share * tiles * choice.tile.q * row_bytes * splits;
  };
  if (problem.kv_lengths.empty()) add(problem.kv_len, 1);
  for (const std::int32_t length : problem.kv_lengths)
    add(length, 1.0 / problem.batch);
  // Tiles of a sequence and KV head read the same KV at about the same time.
  const double tokens_read = std::accumulate(problem.kv_lengths.begin(), problem.kv_lengths.end(), 0.0);
  const auto most = static_cast<double>(most_tokens_of_sequence(problem)) * problem.batch;
  work.bytes = std::min(problem.kv_lengths.empty() ? most : tokens_read, most) * problem.heads_kv *
               kv_row_bytes(problem);
  if (choice.blocks_per_multiprocessor == 1 && family.reader == KvReader::warpgroups) {
    if (const auto busiest =
            busiest_cta(problem, choice.tile, choice.block, choice.splits, request.device.sm_count)) {
      work.busiest_operations = operations * busiest->tokens;
      work.work_items = busiest->tiles;
    }
  }
  return request.costs().cost(work);
}

std::optional<PrefillChoice> choose_tile(const PlanRequest& request, const PrefillFamily& family,
                                         const std::vector<PrefillTile>& tiles,
                                         const Callback<bool(const KernelSpec&)>& may_use) {
  const AttentionProblem& problem = request.problem;
  const bool can_combine = !may_use || may_use(prefill_combine_specification(problem));
  const std::uint32_t multiprocessor_bytes = request.device.shared_limit() + kReservedBytes;
  std::optional<PrefillChoice> best;
  for (const PrefillTile& tile : tiles) {
    PrefillChoice choice{tile, family.block(problem, tile), {}, 1, {}};
    const std::uint32_t used = choice.block.shared_bytes + kReservedBytes;
    if (used > multiprocessor_bytes || tile.cluster > request.device.sm_count) continue;
    // Clusters were measured with a tile for each SM, or more.
    const bool is_small = prefill_tiles(problem, tile, choice.block) < request.device.sm_count;
    if (best && tile.cluster > 1 && is_small) continue;
    choice.blocks_per_multiprocessor =
        std::max(std::min(multiprocessor_bytes / used,
                          kRegistersOfSm / (choice.block.threads * choice.block.registers)),
                 1U);
    if (const auto measured = request.occupancy_of(prefill_specification(family, problem, tile)))
      choice.blocks_per_multiprocessor = std::max(std::min(choice.blocks_per_multiprocessor, *measured), 1U);
    for (const PrefillSplits& splits :
         prefill_split_candidates(request, family, tile, choice.block, can_combine)) {
      choice.splits = splits;
      choice.cost = cost_of(request, family, choice);
      if (!best || choice.cost.time < (1 - kLeastTileGain) * best->cost.time) best = choice;
    }
  }
  return best;
}

}  // namespace

Result<PrefillPlan> plan_prefill(const PlanRequest& request, const PrefillFamily& family,
                                 const std::optional<std::vector<PrefillTile>>& tiles,
                                 const Callback<bool(const KernelSpec&)>& may_use) {
  CUBINET_TRY(check_prefill_splits(request, family));
  CUBINET_TRY(check_prefill_limits(request));
  const AttentionProblem& problem = request.problem;
  const auto choice = choose_tile(request, family, tiles ? *tiles : family.tiles(problem), may_use);
  if (!choice && (request.options.splits || request.options.split_tokens)) {
    return Error{ErrorCode::unsupported, "no tile that fits the device has the requested KV splits, or " +
                                             prefill_combine_specification(problem).to_string() +
                                             " may not be used"};
  }
  if (!choice) {
    return Error{ErrorCode::unsupported, "no tile " + std::string(tiles ? "that is allowed " : "") +
                                             "of head dims " + std::to_string(problem.head_dim_qk) + " and " +
                                             std::to_string(problem.head_dim_v) + " fits the " +
                                             std::to_string(request.device.shared_limit()) +
                                             " bytes of shared memory that a block may use on the device"};
  }
  const std::uint64_t all =
      saturating_product(prefill_tiles(problem, choice->tile, choice->block), choice->splits.count);
  const std::uint64_t resident = std::uint64_t{request.device.sm_count} * choice->blocks_per_multiprocessor /
                                 choice->tile.cluster * choice->tile.cluster;
  // The counter of tiles passes the last tile once for each CTA.
  if (all > kLargestCount - resident) {
    return Error{ErrorCode::invalid_argument,
                 "`AttentionProblem::batch` " + std::to_string(problem.batch) +
                     ", `AttentionProblem::q_len` " + std::to_string(problem.q_len) +
                     " and `AttentionProblem::heads_q` " + std::to_string(problem.heads_q) +
                     " are more tiles than 2^31 - 1; plan fewer query tokens at a time"};
  }
  PrefillPlan plan;
  plan.spec = prefill_specification(family, problem, choice->tile);
  plan.tile = choice->tile;
  plan.block = choice->block;
  plan.splits = choice->splits;
  plan.workspace = prefill_workspace(problem, choice->splits);
  plan.blocks_per_multiprocessor = choice->blocks_per_multiprocessor;
  plan.blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(all, 1, resident));
  plan.cost = choice->cost;
  CUBINET_TRY_ASSIGN(plan.parameters, prefill_parameters(problem));
  CUBINET_TRY_ASSIGN(plan.parameters.tile_heads,
                     kernel_templates::make_fast_divisor(choice->block.tile_heads));
  if (family.has_maps) set_prefill_boxes(problem, choice->tile, plan.parameters);
  if (plan.is_split()) {
    plan.parameters.split_tokens = static_cast<int>(choice->splits.tokens);
    plan.parameters.splits = static_cast<int>(choice->splits.count);
  }
  return plan;
}

}  // namespace cubinet
