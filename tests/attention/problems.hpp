// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "published/selection.hpp"

#include <cubinet/base/sha256.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cubinet::test {

inline constexpr DeviceFacts kB200{{10, 0}, 148, 0};

// A generation problem of the published worked examples: heads, group size, head dims.
inline AttentionProblem generation(std::uint32_t batch, std::uint32_t q_len, std::uint32_t kv_len,
                                   std::uint32_t heads_q, std::uint32_t group,
                                   std::uint32_t head_dim_qk = 128, std::uint32_t head_dim_v = 128) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.q_len = q_len;
  problem.kv_len = kv_len;
  problem.heads_q = heads_q;
  problem.heads_kv = heads_q / group;
  problem.head_dim_qk = head_dim_qk;
  problem.head_dim_v = head_dim_v;
  return problem;
}

inline AttentionProblem context(std::uint32_t batch, std::uint32_t q_len, std::uint32_t kv_len,
                                std::uint32_t heads_q, std::uint32_t group) {
  AttentionProblem problem = generation(batch, q_len, kv_len, heads_q, group);
  problem.prefill = true;
  return problem;
}

inline KernelIndex index_of(const std::vector<KernelRow>& rows, ComputeCapability device = {10, 0}) {
  KernelRows shared;
  for (const KernelRow& row : rows)
    shared.push_back(std::make_shared<const KernelRow>(row));
  return KernelIndex::build(std::move(shared), device);
}

inline SelectionPolicy assume_all() {
  SelectionPolicy policy;
  policy.assumes_all_kernels = true;
  return policy;
}

// The row that a selection would have liked: the table of a test is made of these.
inline KernelRow row_of(const KernelFacts& kernel, SmTarget target = {10, 0, TargetKind::family}) {
  KernelRow row;
  row.selector = kernel.selector;
  row.traits = kernel.traits;
  row.threads = kernel.threads;
  row.target = target;
  row.shared_bytes = 100'000;
  row.function_name = std::string(to_string(kernel.selector.kernel_type)) +
                      std::to_string(kernel.selector.tile_size_q) + "_" +
                      std::string(to_string(kernel.selector.multi_ctas_kv_mode)) + "_" +
                      std::string(to_string(kernel.selector.scheduler)) + "_" + target.to_string();
  row.digest = sha256(as_bytes(row.function_name));
  return row;
}

// Rows for everything that an assuming selection of the problem would pass through.
inline std::vector<KernelRow> rows_for(const AttentionProblem& problem) {
  std::vector<KernelRow> rows;
  const auto selection = select(problem, kB200, index_of({}), assume_all());
  if (!selection) return rows;
  const auto add = [&](KernelSelector selector) {
    KernelFacts facts = selection->kernel;
    facts.selector = selector;
    facts.traits.step_q = selector.kernel_type == KernelType::context ? 256 : selector.tile_size_q;
    rows.push_back(row_of(facts));
  };
  for (std::size_t i = 0; i < selection->trace.pass_count; ++i)
    add(selection->trace.passes[i].selector);
  for (std::size_t i = 0; i < selection->trace.candidate_count; ++i) {
    KernelSelector selector = selection->trace.passes[0].selector;
    selector.tile_size_q = selection->trace.candidates[i].tile_size_q;
    if (selector.tile_size_q == selection->trace.passes[0].selector.tile_size_q) continue;
    selector.kernel_type = selector.tile_size_q >= 64 ? KernelType::keeps_mma_ab : KernelType::swaps_mma_ab;
    add(selector);
  }
  return rows;
}

}  // namespace cubinet::test
