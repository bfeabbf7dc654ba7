// SPDX-License-Identifier: Apache-2.0
#include "decode_family.hpp"

#include "templates/invariant_numerics.hpp"

#include <algorithm>
#include <bit>

namespace cubinet {
namespace {

// The most packed rows of one KV head: 16 tiles of 64. With more rows, each tile's own pass over KV
// makes it prefill.
constexpr std::uint64_t kMaximumRows = 1024;

}  // namespace

bool converts_kv(const AttentionProblem& problem) {
  return bits_of(problem.data_type_k) == 8;
}

std::uint64_t rows_of_kv_head(const AttentionProblem& problem) {
  return std::uint64_t{problem.group_size()} * problem.q_len;
}

std::uint32_t smallest_tile_q(const AttentionProblem& problem) {
  const std::uint64_t rows = rows_of_kv_head(problem);
  return rows <= 16 ? 16 : rows <= 32 ? 32 : 64;
}

std::uint32_t kv_row_bytes(const AttentionProblem& problem) {
  const std::uint32_t columns = problem.head_dim_qk + (problem.is_mla_generation() ? 0 : problem.head_dim_v);
  return columns * static_cast<std::uint32_t>(bits_of(problem.data_type_k)) / 8;
}

std::uint32_t widest_head(const AttentionProblem& problem) {
  return std::max(problem.head_dim_qk, problem.head_dim_v);
}

std::uint32_t segments_folded_inside(const AttentionProblem& problem, const DecodeTile& tile) {
  constexpr std::uint64_t kFoldedInside = 128 * 1024;  // bytes of a tile
  const std::uint64_t rows = std::min<std::uint64_t>(rows_of_kv_head(problem), tile.q);
  return static_cast<std::uint32_t>(kFoldedInside / (rows * problem.head_dim_v * sizeof(float)));
}

bool compares_small_tiles(const AttentionProblem& problem) {
  constexpr std::uint32_t kStepOfFourWarps = 128;
  if (problem.is_invariant() || problem.is_mla_generation()) return false;
  const bool is_fitted = problem.head_dim_qk == 128 && problem.head_dim_v == 128;
  return problem.kv_len <= kStepOfFourWarps || is_fitted;
}

std::string decode_gap(const AttentionProblem& problem, ComputeCapability device) {
  if (!problem.is_generation()) return "decode attention is for generation, and the problem is prefill";
  const std::uint64_t rows = rows_of_kv_head(problem);
  if (rows > kMaximumRows) {
    return "a group of " + std::to_string(problem.group_size()) + " times " + std::to_string(problem.q_len) +
           " query tokens is " + std::to_string(rows) +
           " rows a KV head, which is prefill: decode attention takes " + std::to_string(kMaximumRows);
  }
  if (problem.layout != QkvLayout::paged_kv) {
    return "decode attention reads paged KV, and the layout is " + std::string(to_string(problem.layout));
  }
  if (problem.sparse != SparseAttention::none) return "decode attention reads all of KV, not the top k of it";
  if (problem.chunk != kUnlimited) return "decode attention would ignore the chunks";
  if (problem.skips_softmax) return "decode attention skips no softmax";
  if (problem.sage_block != decltype(problem.sage_block){})
    return "decode attention would ignore the Sage scales";
  if (problem.data_type_k != problem.data_type_v) {
    return "decode attention has one type for KV, and K is " + std::string(to_string(problem.data_type_k)) +
           ", V " + std::string(to_string(problem.data_type_v));
  }
  if (problem.data_type_o == DataType::e4m3 && device < kFirstWithConversions) {
    return "decode attention writes e4m3 on devices from " + kFirstWithConversions.to_string() +
           " on, and this one is of " + device.to_string();
  }
  return invariant_gap(problem);
}

std::string numerics_gap(const DecodeFamily& family, const AttentionProblem& problem) {
  if (family.has_numerics || !problem.is_invariant()) return "";
  return std::string(family.name) + " has no invariant numerics";
}

bool decode_has_sizes(const AttentionProblem& problem) {
  constexpr std::uint32_t kSmallestPage = 8;
  constexpr std::uint32_t kLargestPage = 256;
  const std::uint32_t page = problem.tokens_per_page;
  if (!std::has_single_bit(page) || page < kSmallestPage || page > kLargestPage) return false;
  const auto is_narrow = [](std::uint32_t columns) {
    return columns == 64 || columns == 128 || columns == 256;
  };
  const std::uint32_t qk = problem.head_dim_qk;
  const std::uint32_t v = problem.head_dim_v;
  if (is_narrow(qk) && is_narrow(v)) return true;
  return problem.is_mla_generation() || (qk == 512 && v == 512 && !problem.is_invariant());
}

KernelSpec decode_specification(const DecodeFamily& family, const AttentionProblem& problem) {
  KernelSpec spec{family.name, {}};
  const auto type = [](DataType value) { return ParameterValue(std::string(to_string(value))); };
  // A single query token sees the same tokens under both masks, so one kernel serves both.
  const bool dense = problem.mask == AttentionMask::dense && problem.q_len > 1;
  const bool custom = problem.mask == AttentionMask::custom;
  spec.set("dtype_q", type(problem.data_type_q))
      .set("dtype_kv", type(problem.data_type_k))
      .set("dtype_o", type(problem.data_type_o))
      .set("head_dim_qk", problem.head_dim_qk)
      .set("head_dim_v", problem.head_dim_v)
      .set("page_size", problem.tokens_per_page)
      .set("mask", dense    ? "dense"
                   : custom ? "custom"
                            : "causal")
      .set("sliding_window", ParameterValue(custom || problem.is_sliding()))
      .set("soft_cap", ParameterValue(problem.soft_cap.has_value()))
      .set("separate_page_tables", ParameterValue(problem.separate_page_tables));
  if (family.has_numerics) spec.set("numerics", ParameterValue(std::string(to_string(problem.numerics))));
  return spec;
}

KernelSpec decode_specification(const DecodeFamily& family, const AttentionProblem& problem,
                                const DecodeTile& tile) {
  KernelSpec spec = decode_specification(family, problem);
  spec.set("tile_size_q", tile.q).set("tile_size_kv", tile.kv).set("stages", tile.stages);
  const DecodeBlock block = family.block(problem, tile);
  if (block.names_cluster) spec.set("cluster_size", block.cluster);
  return spec;
}

KernelSpec combine_specification(const DecodeFamily& family, const AttentionProblem& problem,
                                 const DecodeTile& tile) {
  const KernelSpec kernel = decode_specification(family, problem, tile);
  const DecodeBlock block = family.block(problem, tile);
  KernelSpec spec{kCombineTemplate, {}};
  for (const char* shared : {"dtype_o", "head_dim_v", "tile_size_q", "mask", "sliding_window"})
    spec.parameters[shared] = kernel.parameters.at(shared);
  const bool has_window = kernel.parameters.at("sliding_window") == ParameterValue(true);
  spec.set("converts_kv", ParameterValue(converts_kv(problem)))
      .set("cluster_size", block.cluster)
      .set("slice", has_window ? block.slice : 16)
      .set("numerics", ParameterValue(std::string(to_string(problem.numerics))));
  return spec;
}

}  // namespace cubinet
