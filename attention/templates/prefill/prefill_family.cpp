// SPDX-License-Identifier: Apache-2.0
#include "prefill_family.hpp"

#include "rounding.hpp"
#include "size_limits.hpp"
#include "templates/decode/decode_family.hpp"
#include "templates/invariant_numerics.hpp"

#include <algorithm>

namespace cubinet {

std::string prefill_gap(const AttentionProblem& problem, ComputeCapability device) {
  const bool is_decode = problem.is_generation() && !problem.is_mla_generation();
  if (is_decode && decode_gap(problem, device).empty() && decode_has_sizes(problem)) {
    return "prefill attention is for prompts and for generation that decode attention has no kernels for, "
           "and "
           "decode attention has kernels of these head dims and pages";
  }
  return prefill_expression_gap(problem, device);
}

std::string prefill_expression_gap(const AttentionProblem& problem, ComputeCapability device) {
  if (problem.is_mla_generation())
    return "prefill attention has separate K and V, and the problem is latent attention";
  if (problem.layout == QkvLayout::packed_qkv)
    return "prefill attention reads K and V from tensors of their own, and the layout is packed_qkv";
  if (problem.mask == AttentionMask::custom) return "prefill attention has no custom mask";
  if (problem.sparse != SparseAttention::none)
    return "prefill attention reads all of KV, not the top k of it";
  if (problem.chunk != kUnlimited) return "prefill attention would ignore the chunks";
  if (problem.skips_softmax) return "prefill attention skips no softmax";
  if (problem.sage_block != decltype(problem.sage_block){})
    return "prefill attention would ignore the Sage scales";
  const bool is_narrow = problem.data_type_k == DataType::e4m3;
  if (problem.data_type_k != problem.data_type_v ||
      (!is_narrow && problem.data_type_k != problem.data_type_q)) {
    return "prefill attention has one type for K and V, that of Q or e4m3, and Q is " +
           std::string(to_string(problem.data_type_q)) + ", K " +
           std::string(to_string(problem.data_type_k)) + ", V " + std::string(to_string(problem.data_type_v));
  }
  if (problem.data_type_o == DataType::e4m3 && device < kFirstWithConversions) {
    return "prefill attention writes e4m3 on devices from " + kFirstWithConversions.to_string() +
           " on, and this one is of " + device.to_string();
  }
  return invariant_gap(problem);
}

std::string numerics_gap(const PrefillFamily& family, const AttentionProblem& problem) {
  if (family.has_numerics || !problem.is_invariant()) return "";
  return std::string(family.name) + " has no invariant numerics";
}

bool prefill_splits_kv(const PrefillFamily& family, const AttentionProblem& problem) {
  return family.has_splits && !problem.is_invariant();
}

KernelSpec prefill_specification(const PrefillFamily& family, const AttentionProblem& problem) {
  KernelSpec spec{family.name, {}};
  const auto type = [](DataType value) { return ParameterValue(std::string(to_string(value))); };
  const bool paged = problem.layout == QkvLayout::paged_kv;
  // A single query token sees the same tokens under both masks, so one kernel serves both.
  const bool dense = problem.mask == AttentionMask::dense && problem.q_len > 1;
  spec.set("dtype", type(problem.data_type_q))
      .set("dtype_o", type(problem.data_type_o))
      .set("head_dim_qk", problem.head_dim_qk)
      .set("head_dim_v", problem.head_dim_v)
      .set("kv_layout", paged ? "paged" : "contiguous")
      .set("mask", dense ? "dense" : "causal")
      .set("sliding_window", ParameterValue(problem.is_sliding()))
      .set("soft_cap", ParameterValue(problem.soft_cap.has_value()))
      .set("separate_page_tables", ParameterValue(paged && problem.separate_page_tables));
  if (family.has_numerics) spec.set("numerics", ParameterValue(std::string(to_string(problem.numerics))));
  if (family.converts_kv) spec.set("dtype_kv", type(problem.data_type_k));
  return spec;
}

KernelSpec prefill_specification(const PrefillFamily& family, const AttentionProblem& problem,
                                 const PrefillTile& tile) {
  KernelSpec spec = prefill_specification(family, problem);
  spec.set("tile_size_q", tile.q).set("tile_size_kv", tile.kv).set("stages", tile.stages);
  if (family.has_folds) spec.set("fold_steps", tile.fold_steps);
  if (family.has_clusters) spec.set("cluster_size", tile.cluster);
  return spec;
}

std::optional<PrefillTile> prefill_tile_of(const KernelSpec& kernel) {
  PrefillTile tile;
  for (const auto& [name, size] :
       {std::pair{"tile_size_q", &tile.q}, {"tile_size_kv", &tile.kv}, {"stages", &tile.stages}}) {
    const auto parameter = kernel.parameters.find(name);
    if (parameter == kernel.parameters.end()) return std::nullopt;
    const auto* value = std::get_if<std::int64_t>(&parameter->second);
    if (value == nullptr || *value < 1 || *value > INT32_MAX) return std::nullopt;
    *size = static_cast<std::uint32_t>(*value);
  }
  for (const auto& [name, number] :
       {std::pair{"fold_steps", &tile.fold_steps}, {"cluster_size", &tile.cluster}}) {
    const auto parameter = kernel.parameters.find(name);
    if (parameter == kernel.parameters.end()) continue;
    const auto* value = std::get_if<std::int64_t>(&parameter->second);
    if (value == nullptr || *value < 0 || *value > INT32_MAX) return std::nullopt;
    *number = static_cast<std::uint32_t>(*value);
  }
  if (tile.cluster == 0) return std::nullopt;
  return tile;
}

bool folds_as_planned(const PrefillFamily& family, const AttentionProblem& problem, const PrefillTile& tile) {
  const std::vector<PrefillTile> tiles = family.tiles(problem);
  return std::any_of(tiles.begin(), tiles.end(),
                     [&](const PrefillTile& planned) { return planned.fold_steps == tile.fold_steps; });
}

std::uint64_t prefill_tiles(const AttentionProblem& problem, const PrefillTile& tile,
                            const PrefillBlock& block) {
  const std::uint64_t heads = problem.heads_q / block.tile_heads;
  const std::uint64_t rows = std::uint64_t{problem.q_len} * block.tile_heads;
  const std::uint64_t of_heads = divide_up(rows, std::uint64_t{tile.q} * tile.cluster) * tile.cluster;
  return saturating_product(problem.batch * heads * block.column_parts, of_heads);
}

}  // namespace cubinet
