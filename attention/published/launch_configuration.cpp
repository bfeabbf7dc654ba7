// SPDX-License-Identifier: Apache-2.0
#include "launch_configuration.hpp"

#include "rounding.hpp"
#include "size_limits.hpp"

#include <algorithm>

namespace cubinet {
namespace {

constexpr std::uint32_t kReductionThreads = 512;
constexpr std::uint32_t kReductionBlocksPerSm = 2;
constexpr std::uint32_t kVectorBytes = 16;
constexpr std::uint32_t kPartialBytes = 2;  // partial outputs are 16-bit floats
// The minimum of KV steps per CTA. With one step, the reduction costs more than the shorter loop
// saves.
constexpr std::uint32_t kMinimumStepsPerCta = 2;

bool is_context(const KernelSelector& selector) {
  return selector.kernel_type == KernelType::context;
}

// Fills a tile's rows with heads of one KV head, and with as many tokens as then fit. If the group
// is larger than the tile, several CTAs share its heads, and a tile has one token.
bool fill_rows(const AttentionProblem& problem, const KernelFacts& kernel, LaunchConfiguration& launch) {
  const std::uint32_t group = problem.group_size();
  const std::uint32_t step = kernel.traits.step_q;
  launch.heads_per_cta = kernel.traits.groups_heads_q ? std::min(group, step) : 1;
  if (group % launch.heads_per_cta != 0) return false;
  launch.head_ctas = problem.heads_q / launch.heads_per_cta;
  if (is_context(kernel.selector)) {
    launch.tokens_per_cta_q = step;
    launch.ctas_q = static_cast<std::uint32_t>(divide_up(problem.q_len, step));
  } else if (kernel.selector.groups_tokens_heads_q) {
    launch.tokens_per_cta_q = std::max(1U, step / group);
    launch.ctas_q = static_cast<std::uint32_t>(divide_up(problem.q_len, launch.tokens_per_cta_q));
  } else {
    launch.tokens_per_cta_q = 1;
    launch.ctas_q = problem.q_len;
  }
  launch.wasted_rows = step - std::min(step, launch.tokens_per_cta_q * launch.heads_per_cta);
  const std::uint32_t per_cta = kernel.selector.head_dim_per_cta_v;
  if (per_cta == 0 || problem.head_dim_v % per_cta != 0) return false;
  launch.head_dim_ctas = problem.head_dim_v / per_cta;
  return true;
}

// Returns the number of CTAs that share the KV of one tile of rows.
std::uint64_t kv_splits(const AttentionProblem& problem, const KernelFacts& kernel, std::uint64_t base_ctas,
                        std::uint32_t sm_count, std::uint32_t most) {
  if (kernel.selector.multi_ctas_kv_mode == MultiCtasKvMode::disabled) return 1;
  const std::uint64_t step = kernel.traits.step_kv;
  const std::uint64_t useful =
      divide_up(kv_reach(problem, kernel.traits.step_kv), kMinimumStepsPerCta * step);
  return std::min({useful, std::max<std::uint64_t>(1, sm_count / base_ctas), std::uint64_t{most}});
}

// Returns whether FlashInfer's reduction supports the kernel: it keeps A and B, with tiles of 64
// rows (or 128, if it is not a kernel of latent attention) and 128 KV tokens.
bool can_reduce_separately(const AttentionProblem& problem, const KernelSelector& selector,
                           std::uint32_t head_dim) {
  const bool tile =
      selector.tile_size_q == 64 || (selector.tile_size_q == 128 && !problem.is_mla_generation());
  const bool shape = selector.kernel_type == KernelType::keeps_mma_ab && selector.tile_size_kv == 128 && tile;
  const bool columns = head_dim == 128 || head_dim == 256 || head_dim == 512;
  const DataType q = selector.data_type_q;
  const DataType o = selector.data_type_o;
  const bool half = o == DataType::fp16 || o == DataType::bf16;
  const bool types = q == DataType::e4m3 ? half || o == DataType::e4m3 : half && q == o;
  return shape && columns && types;
}

std::optional<ReductionLaunch> configure_reduction(const AttentionProblem& problem,
                                                   const KernelSelector& selector,
                                                   const LaunchConfiguration& launch,
                                                   std::uint32_t sm_count) {
  ReductionLaunch reduction;
  reduction.head_dim = selector.head_dim_per_cta_v * (selector.two_cta ? 2U : 1U);
  if (!can_reduce_separately(problem, selector, reduction.head_dim)) return std::nullopt;
  reduction.threads = kReductionThreads;
  reduction.slices = std::max(
      1U, reduction.head_dim * kPartialBytes * selector.tile_size_q / (kReductionThreads * kVectorBytes));
  const std::uint64_t y = std::uint64_t{launch.head_ctas} * (problem.head_dim_v / reduction.head_dim);
  const std::uint64_t others = std::uint64_t{launch.ctas_q} * y * problem.batch;
  // A grid that already fills the device has no room for slices, but needs at least one.
  const std::uint64_t n = std::clamp<std::uint64_t>(kReductionBlocksPerSm * std::uint64_t{sm_count} / others,
                                                    1, reduction.slices);
  const std::uint64_t x = launch.ctas_q * n;
  if (x > kMaximumGridX || y > kMaximumGridYz) return std::nullopt;
  reduction.grid = {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), problem.batch};
  return reduction;
}

}  // namespace

std::uint64_t kv_reach(const AttentionProblem& problem, std::uint32_t step_kv) {
  const std::uint64_t all = problem.kv_len;
  if (problem.sparse != SparseAttention::none) return std::min<std::uint64_t>(all, problem.top_k);
  if (!problem.is_sliding()) return all;
  // A window that begins inside a step reaches one more step.
  if (problem.kv_len > problem.window) {
    return std::min<std::uint64_t>(all, std::uint64_t{problem.window} + step_kv - 1);
  }
  return std::min<std::uint64_t>(all, problem.chunk);
}

std::optional<LaunchConfiguration> configure_launch(const AttentionProblem& problem,
                                                    const KernelFacts& kernel, std::uint32_t sm_count,
                                                    std::uint32_t maximum_splits) {
  LaunchConfiguration launch;
  launch.threads = kernel.threads;
  launch.shared_bytes = kernel.shared_bytes;
  if (!fill_rows(problem, kernel, launch)) return std::nullopt;
  std::uint64_t x = launch.ctas_q;
  std::uint64_t y = std::uint64_t{launch.head_ctas} * launch.head_dim_ctas;
  if (kernel.selector.two_cta) {
    if (launch.head_ctas != 2 || launch.head_dim_ctas != 2) return std::nullopt;
    x *= 2;
    y /= 4;
  }
  if (x > kMaximumGridX || y > kMaximumGridYz) return std::nullopt;
  launch.ctas_kv =
      static_cast<std::uint32_t>(kv_splits(problem, kernel, x * y * problem.batch, sm_count, maximum_splits));
  x *= launch.ctas_kv;
  if (x > kMaximumGridX) return std::nullopt;
  launch.grid = {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), problem.batch};
  const bool cga = kernel.selector.multi_ctas_kv_mode == MultiCtasKvMode::cga;
  launch.cluster_x = (kernel.selector.two_cta ? 2U : 1U) * (cga ? launch.ctas_kv : 1U);
  if (launch.cluster_x > kMaximumCluster) return std::nullopt;
  if (kernel.selector.multi_ctas_kv_mode == MultiCtasKvMode::gmem_separate) {
    launch.reduction = configure_reduction(problem, kernel.selector, launch, sm_count);
    if (!launch.reduction) return std::nullopt;
  }
  return launch;
}

std::uint64_t main_loop_length(const AttentionProblem& problem, const KernelFacts& kernel,
                               const LaunchConfiguration& launch) {
  const std::uint64_t steps = divide_up(problem.kv_len, kernel.traits.step_kv);
  return divide_up(steps, launch.ctas_kv) * kernel.traits.step_kv;
}

}  // namespace cubinet
