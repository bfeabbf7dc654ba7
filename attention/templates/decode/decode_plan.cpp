// SPDX-License-Identifier: Apache-2.0
#include "decode_plan.hpp"

#include "decode_parameters.hpp"
#include "rounding.hpp"
#include "size_limits.hpp"
#include "templates/invariant_numerics.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace cubinet {
namespace {

struct Choice {
  FittingTile tile;
  DecodeSplits splits;
};

// Returns whether an earlier tile is at least as fast: it differs in the ring alone, which is no
// shallower, and an SM holds as many of its CTAs.
bool is_superseded(const FittingTile& tile, const std::vector<FittingTile>& earlier) {
  return std::any_of(earlier.begin(), earlier.end(), [&](const FittingTile& other) {
    return other.shape.q == tile.shape.q && other.shape.kv == tile.shape.kv &&
           other.blocks_per_multiprocessor == tile.blocks_per_multiprocessor &&
           other.shape.stages >= tile.shape.stages;
  });
}

// Returns the fastest of the tiles that fit, with its best splits. Of nearly equal ones, and for
// splits of a fixed length, it is the first.
std::optional<Choice> choose(const PlanRequest& request, const DecodeFamily& family,
                             const std::vector<DecodeCandidate>& candidates,
                             const Callback<bool(const KernelSpec&)>& has_kernel) {
  std::optional<Choice> best;
  std::vector<FittingTile> weighed;
  for (const DecodeCandidate& candidate : candidates) {
    const auto tile = fitting_tile(request, family, candidate.tile, candidate.blocks);
    if (!tile || is_superseded(*tile, weighed)) continue;
    weighed.push_back(*tile);
    const bool can_combine =
        !has_kernel || has_kernel(combine_specification(family, request.problem, tile->shape));
    const Choice choice{*tile, decode_splits(request, family, *tile, can_combine)};
    if (request.options.split_tokens) return choice;
    if (!best || choice.splits.compared_time < (1 - kLeastGain) * best->splits.compared_time) best = choice;
  }
  return best;
}

std::vector<DecodeCandidate> candidates_of(const std::vector<DecodeTile>& tiles) {
  std::vector<DecodeCandidate> candidates;
  for (const DecodeTile& tile : tiles)
    candidates.push_back({tile});
  return candidates;
}

Result<void> check_limits(const PlanRequest& request) {
  const AttentionProblem& problem = request.problem;
  const auto splits = request.options.splits;
  if (splits && (*splits < 1 || *splits > kMaximumDecodeSplits)) {
    return Error{ErrorCode::invalid_argument, "the number of KV splits is " + std::to_string(*splits) +
                                                  ", but must be 1 to " +
                                                  std::to_string(kMaximumDecodeSplits)};
  }
  const auto tokens = request.options.split_tokens;
  if (tokens && (*tokens == 0 || *tokens % kSplitTokensMultiple != 0 || *tokens > kMaximumKvLength)) {
    return Error{ErrorCode::invalid_argument,
                 "a KV split has " + std::to_string(*tokens) + " tokens, but must have a multiple of " +
                     std::to_string(kSplitTokensMultiple) + " up to " + std::to_string(kMaximumKvLength)};
  }
  if (tokens && problem.is_invariant()) {
    return Error{ErrorCode::invalid_argument, "invariant numerics divides KV into segments of " +
                                                  std::to_string(kInvariantSegment) +
                                                  " tokens: it takes no tokens of a split"};
  }
  if (splits && tokens) {
    return Error{ErrorCode::invalid_argument, "both the number of KV splits and their tokens are given",
                 "give one of them"};
  }
  if (problem.kv_len > kMaximumKvLength) {
    return Error{ErrorCode::invalid_argument, "`AttentionProblem::kv_len` is " +
                                                  std::to_string(problem.kv_len) + ", but must be at most " +
                                                  std::to_string(kMaximumKvLength)};
  }
  // The rows of the tiles of a KV head are counted in 32 bits.
  if (std::uint64_t{problem.q_len} * problem.heads_q > std::numeric_limits<std::int32_t>::max()) {
    return Error{ErrorCode::invalid_argument, "`AttentionProblem::q_len` is " +
                                                  std::to_string(problem.q_len) +
                                                  ": its grid is beyond CUDA's limit"};
  }
  return {};
}

}  // namespace

Result<DecodePlan> plan_decode(const PlanRequest& request, const DecodeFamily& family,
                               const std::optional<std::vector<DecodeTile>>& tiles,
                               const Callback<bool(const KernelSpec&)>& has_kernel) {
  CUBINET_TRY(check_limits(request));
  const AttentionProblem& problem = request.problem;
  const auto choice =
      choose(request, family, tiles ? candidates_of(*tiles) : family.tiles(problem), has_kernel);
  if (!choice) {
    return Error{ErrorCode::unsupported, "no tile " + std::string(tiles ? "that is allowed " : "") +
                                             "of head dims " + std::to_string(problem.head_dim_qk) + " and " +
                                             std::to_string(problem.head_dim_v) + " fits the " +
                                             std::to_string(request.device.shared_limit()) +
                                             " bytes of shared memory that a block may use on the device"};
  }
  const FittingTile& tile = choice->tile;
  const DecodeSplits& splits = choice->splits;
  DecodePlan plan;
  plan.spec = decode_specification(family, problem, tile.shape);
  plan.tile = tile.shape;
  plan.splits = splits.count;
  if (splits.combines_apart) {
    plan.combine = combine_specification(family, problem, tile.shape);
    if (splits.split_is_unit && has_kernel && !has_kernel(plan.combine)) {
      return Error{ErrorCode::unsupported, "KV splits of a fixed length need a kernel that combines them: " +
                                               plan.combine.to_string() +
                                               " does not exist here, and none may be compiled"};
    }
  }
  plan.q_tiles = divide_up(problem.group_size() * problem.q_len, tile.shape.q);
  CUBINET_TRY_ASSIGN(plan.workspace, decode_workspace(problem, tile.shape, splits));
  const double most_units =
      static_cast<double>(problem.batch) * plan.q_tiles * divide_up(problem.kv_len, splits.unit);
  if (std::uint64_t{splits.blocks} * problem.heads_kv > kMostUnits ||
      most_units + splits.blocks > kMostUnits) {
    return Error{ErrorCode::invalid_argument,
                 "`AttentionProblem::batch` " + std::to_string(problem.batch) +
                     ", `AttentionProblem::q_len` " + std::to_string(problem.q_len) +
                     " and `AttentionProblem::kv_len` " + std::to_string(problem.kv_len) + " in " +
                     std::to_string(splits.count) + " KV splits are more than a grid holds"};
  }
  plan.grid = {splits.blocks * problem.heads_kv, 1, 1};
  plan.combine_grid = {problem.heads_q, problem.q_len, problem.batch};
  if (plan.combines_apart() && problem.q_len > kMaximumGridYz) {
    return Error{ErrorCode::invalid_argument, "`AttentionProblem::q_len` is " +
                                                  std::to_string(problem.q_len) +
                                                  ": its grid is beyond CUDA's limit"};
  }
  CUBINET_TRY_ASSIGN(plan.parameters, decode_parameters(problem, tile.shape, splits));
  plan.shared_bytes = tile.block.shared_bytes;
  plan.blocks_per_multiprocessor = tile.blocks_per_multiprocessor;
  plan.cost = choice->splits.cost;
  plan.compared_time = choice->splits.compared_time;
  return plan;
}

}  // namespace cubinet
