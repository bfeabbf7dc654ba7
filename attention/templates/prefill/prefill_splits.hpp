// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefill_family.hpp"

#include <cubinet/attention/operation.hpp>
#include <cubinet/base/callback.hpp>
#include <cubinet/base/result.hpp>

#include <cstdint>
#include <vector>

namespace cubinet {

// The template of the kernel that combines the partial results of splits.
inline constexpr const char* kPrefillCombineTemplate = "attention_prefill_combine";

// The most splits of a sequence that a plan has.
inline constexpr std::uint32_t kMaximumPrefillSplits = 64;

// The splits of KV of a plan. Split i has the tokens from i * `tokens` on, of each sequence.
struct PrefillSplits {
  std::uint32_t count = 1;   // of the longest sequence
  std::uint32_t tokens = 0;  // a multiple of the tile; 0: KV is not split

  friend bool operator==(const PrefillSplits&, const PrefillSplits&) = default;
};

// Returns the most KV tokens that the rows of a sequence see: with a window, not all of them.
std::uint64_t most_tokens_of_sequence(const AttentionProblem& problem);

// Returns the specification of the kernel that combines the partial results.
KernelSpec prefill_combine_specification(const AttentionProblem& problem);

// Returns `count` splits of the longest sequence in whole steps of the tile. There are fewer if it
// has fewer steps.
PrefillSplits prefill_splits_of(const AttentionProblem& problem, const PrefillTile& tile,
                                std::uint32_t count);

// Returns invalid_argument if the options ask for splits that no kernel has, and unsupported if the
// family has no splits.
Result<void> check_prefill_splits(const PlanRequest& request, const PrefillFamily& family);

// Returns the splits that a plan with the tile may have: those that the options ask for, or all
// that may be faster than the ones before. There is none if the tile cannot have the requested
// splits. `can_combine` states whether the plan may use the kernel that combines. REQUIRES:
// check_prefill_splits() succeeds.
std::vector<PrefillSplits> prefill_split_candidates(const PlanRequest& request, const PrefillFamily& family,
                                                    const PrefillTile& tile, const PrefillBlock& block,
                                                    bool can_combine);

// Returns the workspace: the counters of tiles, and the partial results if KV is split. REQUIRES:
// the splits are of prefill_split_candidates().
WorkspaceSizes prefill_workspace(const AttentionProblem& problem, const PrefillSplits& splits);

// Returns the grid of the kernel that combines the partial results.
std::array<std::uint32_t, 3> prefill_combine_grid(const AttentionProblem& problem);

}  // namespace cubinet
