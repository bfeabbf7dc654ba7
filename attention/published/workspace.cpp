// SPDX-License-Identifier: Apache-2.0
#include "workspace.hpp"

#include <algorithm>
#include <cassert>

namespace cubinet {
namespace {

constexpr std::uint64_t kStatsBytes = 8;
// A separate reduction reads 16-bit partial outputs. Kernels that reduce themselves store at most
// fp32.
constexpr std::uint64_t kSeparateOutputBytes = 2;
constexpr std::uint64_t kOwnOutputBytes = 4;
constexpr std::uint64_t kStatsTokens = 256;
constexpr std::uint64_t kStatsRoom = std::uint64_t{1} << 20U;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Returns the bytes of the softmax statistics, from which the log-sum-exp is computed, and of the
// space behind them, as in the publisher's launcher.
std::uint64_t softmax_stats_bytes(const AttentionProblem& problem, bool keeps_stats_of_ragged) {
  if (problem.layout == QkvLayout::separate_qkv && keeps_stats_of_ragged)
    return kStatsBytes * problem.heads_q * problem.batch * problem.q_len;
  if (!problem.lse) return 0;
  return kStatsBytes * problem.heads_q * problem.batch * round_up(problem.q_len, kStatsTokens) + kStatsRoom;
}

}  // namespace

std::uint64_t partial_stats_bytes(const KernelFacts& kernel, std::uint32_t sm_count) {
  return kStatsBytes * sm_count * kernel.traits.step_q;
}

WorkspaceSizes workspace_sizes(const AttentionProblem& problem, const KernelFacts& kernel,
                               const LaunchConfiguration& launch, std::uint32_t sm_count,
                               bool keeps_stats_of_ragged) {
  WorkspaceSizes sizes;
  sizes.softmax_stats_bytes = softmax_stats_bytes(problem, keeps_stats_of_ragged);
  sizes.partial_stats_offset = sizes.softmax_stats_bytes;
  sizes.partial_output_offset = sizes.partial_stats_offset;
  sizes.scratch_bytes = round_up(sizes.softmax_stats_bytes, kWorkspaceAlignment);
  const MultiCtasKvMode mode = kernel.selector.multi_ctas_kv_mode;
  if (launch.ctas_kv <= 1 || mode == MultiCtasKvMode::disabled || mode == MultiCtasKvMode::cga) return sizes;
  // With a split, at most one CTA per SM is launched, which bounds the partial results.
  assert(launch.total_ctas() <= sm_count);
  if (mode == MultiCtasKvMode::gmem) {
    const std::uint64_t counters =
        std::max<std::uint64_t>(std::uint64_t{problem.batch} * problem.heads_q, sm_count);
    sizes.counter_bytes = round_up(round_up(counters, 8) * sizeof(std::uint32_t), kWorkspaceAlignment);
  }
  const std::uint64_t rows = launch.total_ctas() * kernel.traits.step_q;
  const std::uint64_t element = mode == MultiCtasKvMode::gmem ? kOwnOutputBytes : kSeparateOutputBytes;
  sizes.partial_stats_bytes = partial_stats_bytes(kernel, sm_count);
  sizes.partial_output_offset += sizes.partial_stats_bytes;
  // Each CTA of a pair that shares an MMA stores the columns of both.
  const std::uint64_t columns =
      std::uint64_t{kernel.selector.head_dim_per_cta_v} * (kernel.selector.two_cta ? 2U : 1U);
  sizes.partial_output_bytes = rows * columns * element;
  sizes.scratch_bytes =
      round_up(sizes.partial_output_offset + sizes.partial_output_bytes, kWorkspaceAlignment);
  return sizes;
}

}  // namespace cubinet
