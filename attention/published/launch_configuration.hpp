// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cubinet/attention/problem.hpp>
#include <cubinet/base/result.hpp>
#include <cubinet/kernel_table/kernel_row.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace cubinet {

// The properties of a row, existing or assumed, that its launch depends on.
struct KernelFacts {
  KernelSelector selector;
  KernelTraits traits;
  std::uint32_t shared_bytes = 0;
  std::uint32_t threads = 0;
};

// The second launch of MultiCtasKvMode::gmem_separate. Its grid is never empty.
struct ReductionLaunch {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::uint32_t threads = 512;
  // 16-byte vectors of a tile's partial result divided by the threads of a block
  std::uint32_t slices = 1;
  // Columns of V that one block's slices cover, for both CTAs of a pair.
  std::uint32_t head_dim = 0;

  friend bool operator==(const ReductionLaunch&, const ReductionLaunch&) = default;
};

// Counts are of CTAs unless noted otherwise. The grid is (ctas_q * ctas_kv, head_ctas *
// head_dim_ctas, batch). For a pair of CTAs that shares an MMA, x is doubled and y divided by four.
struct LaunchConfiguration {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::uint32_t cluster_x = 1;  // CTAs of a cluster, in x
  std::uint32_t threads = 0;
  std::uint32_t shared_bytes = 0;  // dynamic shared memory of a block
  std::uint32_t ctas_q = 1;
  std::uint32_t ctas_kv = 1;  // KV splits
  std::uint32_t head_ctas = 1;
  std::uint32_t head_dim_ctas = 1;
  std::uint32_t heads_per_cta = 1;
  std::uint32_t tokens_per_cta_q = 1;  // Q tokens in a tile. The remaining rows are wasted.
  std::uint32_t wasted_rows = 0;       // unused rows of a full tile
  std::optional<ReductionLaunch> reduction;

  std::uint64_t total_ctas() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  bool needs_opt_in_shared() const { return shared_bytes >= 48 * 1024; }
  bool needs_non_portable_cluster() const { return cluster_x > 8; }
  bool spreads_clusters() const { return cluster_x > 1; }

  friend bool operator==(const LaunchConfiguration&, const LaunchConfiguration&) = default;
};

// The largest cluster, with the non-portable attribute (CUDA Programming Guide, sm_90 and later).
inline constexpr std::uint32_t kMaximumCluster = 16;

// Returns the KV tokens that a row of Q can reach: all, those in the window, or top_k. Not rounded
// to steps.
std::uint64_t kv_reach(const AttentionProblem& problem, std::uint32_t step_kv);

// Returns nullopt if the kernel cannot be launched for the problem: heads or head dims do not
// divide, a grid or cluster exceeds its limit, or the separate reduction does not support the
// shape. No sequence has more than `maximum_splits` KV splits. REQUIRES: check_problem,
// check_device, `maximum_splits` of at least 1.
std::optional<LaunchConfiguration> configure_launch(const AttentionProblem& problem,
                                                    const KernelFacts& kernel, std::uint32_t sm_count,
                                                    std::uint32_t maximum_splits = kUnlimited);

// Returns the KV tokens of the busiest CTA, rounded up to whole steps.
std::uint64_t main_loop_length(const AttentionProblem& problem, const KernelFacts& kernel,
                               const LaunchConfiguration& launch);

}  // namespace cubinet
