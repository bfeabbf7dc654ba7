// SPDX-License-Identifier: Apache-2.0
#include "prefill_splits.hpp"

#include "rounding.hpp"
#include "size_limits.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace cubinet {
namespace {

// The tokens of a split that the options set are a multiple of this (PlanOptions::split_tokens).
constexpr std::uint32_t kTokensMultiple = 128;
// The most tiles per SM, counting splits, up to which more splits may pay: with more tiles the SMs
// end at about the same time anyway.
constexpr std::uint64_t kMostTilesPerSm = 8;
// The fewest steps of a split. Writing and combining a partial result takes about as long.
constexpr std::uint32_t kFewestSteps = 4;

// The most tokens of a split if generation's lengths are not known. One long sequence among short
// ones then has splits for many SMs. 64 steps take 80 us, far longer than their partial result.
constexpr std::uint32_t kMostTokensOfUnknown = 8192;
// The most bytes of their partial results: a server keeps them for the whole time.
constexpr std::uint64_t kMostBytesOfUnknown = std::uint64_t{256} << 20;

// Returns the bytes of all partial results, or more than kLargestTensorBytes.
std::uint64_t partial_bytes(const AttentionProblem& problem, std::uint32_t splits) {
  const std::uint64_t rows = saturating_product(query_tokens(problem), problem.heads_q);
  return saturating_product(saturating_product(rows, splits),
                            (problem.head_dim_v + std::uint64_t{1}) * sizeof(float));
}

// Returns the least number of splits that a plan considers. A short window needs none.
std::uint32_t least_splits(const AttentionProblem& problem) {
  if (!problem.is_generation() || !problem.kv_lengths.empty()) return 1;
  if (most_tokens_of_sequence(problem) <= kMostTokensOfUnknown) return 1;
  std::uint32_t count = std::min(divide_up(problem.kv_len, kMostTokensOfUnknown), kMaximumPrefillSplits);
  while (count > 1 && partial_bytes(problem, count) > kMostBytesOfUnknown)
    --count;
  return count;
}

// The combining kernel counts the rows of a sequence, up to the end of its last CTA, in 31 bits.
bool fits(const AttentionProblem& problem, const PrefillSplits& splits) {
  constexpr std::uint64_t kRowsOfCta = 16;
  if (splits.count == 1) return true;
  return problem.batch <= kMaximumGridYz &&
         std::uint64_t{problem.q_len} * problem.heads_q <= kLargestCount - kRowsOfCta &&
         partial_bytes(problem, splits.count) <= kLargestTensorBytes;
}

}  // namespace

std::uint64_t most_tokens_of_sequence(const AttentionProblem& problem) {
  if (!problem.is_sliding()) return problem.kv_len;
  return std::min(std::uint64_t{problem.kv_len}, std::uint64_t{problem.window} + problem.q_len - 1);
}

KernelSpec prefill_combine_specification(const AttentionProblem& problem) {
  KernelSpec spec{kPrefillCombineTemplate, {}};
  const bool dense = problem.mask == AttentionMask::dense && problem.q_len > 1;
  spec.set("dtype_o", std::string(to_string(problem.data_type_o)))
      .set("head_dim_v", problem.head_dim_v)
      .set("mask", dense ? "dense" : "causal")
      .set("sliding_window", ParameterValue(problem.is_sliding()));
  return spec;
}

PrefillSplits prefill_splits_of(const AttentionProblem& problem, const PrefillTile& tile,
                                std::uint32_t count) {
  const std::uint32_t steps = divide_up(problem.kv_len, tile.kv);
  const std::uint32_t steps_of_split = divide_up(steps, count);
  if (steps_of_split >= steps) return {};
  return {divide_up(steps, steps_of_split), steps_of_split * tile.kv};
}

Result<void> check_prefill_splits(const PlanRequest& request, const PrefillFamily& family) {
  const auto splits = request.options.splits;
  const auto tokens = request.options.split_tokens;
  if (splits && (*splits < 1 || *splits > kMaximumPrefillSplits)) {
    return Error{ErrorCode::invalid_argument, "the number of KV splits is " + std::to_string(*splits) +
                                                  ", but must be 1 to " +
                                                  std::to_string(kMaximumPrefillSplits)};
  }
  if (tokens && (*tokens == 0 || *tokens % kTokensMultiple != 0)) {
    return Error{ErrorCode::invalid_argument, "a KV split has " + std::to_string(*tokens) +
                                                  " tokens, but must have a multiple of " +
                                                  std::to_string(kTokensMultiple)};
  }
  if (splits && tokens) {
    return Error{ErrorCode::invalid_argument, "both the number of KV splits and their tokens are given",
                 "give one of them"};
  }
  if (!prefill_splits_kv(family, request.problem) && (splits.value_or(1) != 1 || tokens)) {
    return Error{ErrorCode::unsupported, std::string(family.name) + " does not split KV" +
                                             (family.has_splits ? " with invariant numerics" : "")};
  }
  return {};
}

std::vector<PrefillSplits> prefill_split_candidates(const PlanRequest& request, const PrefillFamily& family,
                                                    const PrefillTile& tile, const PrefillBlock& block,
                                                    bool can_combine) {
  const AttentionProblem& problem = request.problem;
  std::vector<PrefillSplits> candidates;
  const auto add = [&](const PrefillSplits& splits) {
    if (!fits(problem, splits) || (splits.count > 1 && !can_combine)) return;
    if (candidates.empty() || candidates.back() != splits) candidates.push_back(splits);
  };
  if (const auto tokens = request.options.split_tokens) {
    const std::uint32_t count = divide_up(problem.kv_len, *tokens);
    if (*tokens % tile.kv == 0) add(count > 1 ? PrefillSplits{count, *tokens} : PrefillSplits{});
    return candidates;
  }
  if (const auto count = request.options.splits) {
    add(prefill_splits_of(problem, tile, *count));
    return candidates;
  }
  const std::uint32_t least = prefill_splits_kv(family, problem) ? least_splits(problem) : 1;
  add(prefill_splits_of(problem, tile, least));
  if (candidates.empty()) add({});
  if (!prefill_splits_kv(family, problem)) return candidates;
  const std::uint64_t tiles = prefill_tiles(problem, tile, block);
  const std::uint32_t steps = divide_up(problem.kv_len, tile.kv);
  for (std::uint32_t count = least + 1;
       count <= std::min(kMaximumPrefillSplits, steps / kFewestSteps) &&
       saturating_product(tiles, count) <= kMostTilesPerSm * request.device.sm_count;
       ++count)
    add(prefill_splits_of(problem, tile, count));
  return candidates;
}

WorkspaceSizes prefill_workspace(const AttentionProblem& problem, const PrefillSplits& splits) {
  WorkspaceSizes sizes;
  sizes.counter_bytes = kWorkspaceAlignment;
  if (splits.tokens == 0) return sizes;
  const std::uint64_t rows = query_tokens(problem) * problem.heads_q * splits.count;
  sizes.partial_output_bytes =
      divide_up(rows * problem.head_dim_v * sizeof(float), kWorkspaceAlignment) * kWorkspaceAlignment;
  sizes.partial_stats_offset = sizes.partial_output_bytes;
  sizes.partial_stats_bytes = rows * sizeof(float);
  sizes.scratch_bytes = sizes.partial_stats_offset + sizes.partial_stats_bytes;
  return sizes;
}

std::array<std::uint32_t, 3> prefill_combine_grid(const AttentionProblem& problem) {
  constexpr std::uint32_t kCombinedColumns = 8;
  constexpr std::uint64_t kCombiningLanes = 128;
  const std::uint64_t rows = std::uint64_t{problem.q_len} * problem.heads_q;
  const std::uint32_t lanes = std::bit_ceil(problem.head_dim_v / kCombinedColumns);
  return {static_cast<std::uint32_t>(divide_up(rows * lanes, kCombiningLanes)), problem.batch, 1};
}

}  // namespace cubinet
