// SPDX-License-Identifier: Apache-2.0
#include "prefill_maps.hpp"

#include "size_limits.hpp"

#include <algorithm>
#include <numeric>

namespace cubinet {
namespace {

using kernel_templates::AttentionPrefillParameters;

constexpr std::uint64_t kElementBytes = 2;
constexpr std::uint32_t kBoxColumns = 64;  // 128 bytes, the widest swizzle

struct MapDimension {
  std::uint64_t size = 1;
  long long stride = 0;  // elements
};

// Returns the number of steps of `stride` elements at whose ends `elements` more follow.
std::uint64_t steps_in(const DeviceTensor& tensor, long long stride, std::uint64_t elements) {
  const std::uint64_t all = tensor.bytes / kElementBytes;
  if (all < elements || stride <= 0) return 1;
  return std::min<std::uint64_t>((all - elements) / static_cast<std::uint64_t>(stride) + 1, kLargestCount);
}

TensorMapDescription map_of(const AttentionProblem& problem, std::uint64_t address, std::uint32_t columns,
                            const std::array<MapDimension, 3>& outer) {
  TensorMapDescription map;
  map.type = problem.data_type_q == DataType::fp16 ? TensorMapDescription::Type::fp16
                                                   : TensorMapDescription::Type::bf16;
  map.swizzle = TensorMapDescription::Swizzle::bytes128;
  map.rank = 4;
  map.address = address;
  map.sizes[0] = columns;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    map.sizes[i + 1] = outer[i].size;
    // A dimension of size 1 may have any stride; the driver requires a multiple of 16 bytes.
    const bool is_stepped = outer[i].size > 1;
    map.strides_bytes[i] =
        is_stepped ? static_cast<std::uint64_t>(outer[i].stride) * kElementBytes : columns * kElementBytes;
  }
  map.box = {kBoxColumns, 1, 1, 1, 1};
  return map;
}

struct KvSource {
  const DeviceTensor& tensor;
  std::uint32_t columns;
  long long outer;
  long long token;
  long long head;
};

TensorMapDescription kv_map_of(const AttentionProblem& problem, std::uint32_t box_tokens,
                               const KvSource& kv) {
  MapDimension tokens{problem.kv_len, kv.token};
  MapDimension outer{problem.batch, kv.outer};
  if (problem.layout == QkvLayout::separate_qkv) {
    const auto heads = static_cast<std::uint64_t>(kv.head) * (problem.heads_kv - 1) + kv.columns;
    tokens.size = steps_in(kv.tensor, kv.token, heads);
    outer.size = 1;
  } else if (problem.layout == QkvLayout::paged_kv) {
    tokens.size = problem.tokens_per_page;
    const auto page = static_cast<std::uint64_t>(kv.head) * (problem.heads_kv - 1) +
                      static_cast<std::uint64_t>(kv.token) * (problem.tokens_per_page - 1) + kv.columns;
    outer.size = steps_in(kv.tensor, kv.outer, page);
  }
  TensorMapDescription map = map_of(problem, kv.tensor.address, kv.columns,
                                    {tokens, MapDimension{problem.heads_kv, kv.head}, outer});
  map.box[1] = box_tokens;
  return map;
}

}  // namespace

std::uint32_t prefill_box_tokens(const AttentionProblem& problem, const PrefillTile& tile) {
  return problem.layout == QkvLayout::paged_kv ? std::gcd(problem.tokens_per_page, tile.kv) : tile.kv;
}

PrefillMaps prefill_maps(const AttentionProblem& problem, const PrefillTile& tile, const PrefillBlock& block,
                         const AttentionPrefillParameters& strides, const AttentionTensors& tensors) {
  MapDimension tokens{problem.q_len, strides.q_token_stride};
  MapDimension sequences{problem.batch, strides.q_batch_stride};
  if (problem.ragged_q) {
    const auto heads =
        static_cast<std::uint64_t>(strides.q_head_stride) * (problem.heads_q - 1) + problem.head_dim_qk;
    tokens.size = steps_in(tensors.q, strides.q_token_stride, heads);
    sequences.size = 1;
  }
  PrefillMaps maps;
  maps.q = map_of(problem, tensors.q.address, problem.head_dim_qk,
                  {MapDimension{problem.heads_q, strides.q_head_stride}, tokens, sequences});
  maps.q.box[1] = block.tile_heads;
  maps.q.box[2] = tile.q / block.tile_heads;
  const std::uint32_t box = prefill_box_tokens(problem, tile);
  maps.k = kv_map_of(problem, box,
                     {tensors.k, problem.head_dim_qk, strides.k_outer_stride, strides.k_token_stride,
                      strides.k_head_stride});
  maps.v = kv_map_of(
      problem, box,
      {tensors.v, problem.head_dim_v, strides.v_outer_stride, strides.v_token_stride, strides.v_head_stride});
  return maps;
}

}  // namespace cubinet
