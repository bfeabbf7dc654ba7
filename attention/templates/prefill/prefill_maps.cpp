// SPDX-License-Identifier: Apache-2.0
#include "prefill_maps.hpp"

#include "size_limits.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cubinet {
namespace {

using kernel_templates::AttentionPrefillParameters;

constexpr std::uint32_t kMapRowBytes = 128;  // the widest swizzle
constexpr std::uint32_t kGroupTokens = 8;    // rows of K and V that are adjacent in shared memory
constexpr std::uint32_t kConsumerRows = 64;

struct MapDimension {
  std::uint64_t size = 1;
  long long stride = 0;  // elements
};

// Q, K and V have one type.
std::uint32_t element_bytes(const AttentionProblem& problem) {
  return static_cast<std::uint32_t>(bits_of(problem.data_type_q) / 8);
}
std::uint32_t box_columns(const AttentionProblem& problem) {
  return kMapRowBytes / element_bytes(problem);
}

TensorMapDescription::Type map_type(DataType type) {
  if (type == DataType::e4m3) return TensorMapDescription::Type::uint8;
  return type == DataType::fp16 ? TensorMapDescription::Type::fp16 : TensorMapDescription::Type::bf16;
}

// Returns the number of steps of `stride` elements at whose ends `elements` more follow.
std::uint64_t steps_in(const AttentionProblem& problem, const DeviceTensor& tensor, long long stride,
                       std::uint64_t elements) {
  const std::uint64_t all = tensor.bytes / element_bytes(problem);
  if (all < elements || stride <= 0) return 1;
  return std::min<std::uint64_t>((all - elements) / static_cast<std::uint64_t>(stride) + 1, kLargestCount);
}

// Returns the map of a tensor with `columns` columns. `outer` are the dimensions after the columns,
// at most four. A dimension of size 1 gets a stride that the driver accepts.
TensorMapDescription map_of(const AttentionProblem& problem, std::uint64_t address, std::uint32_t columns,
                            const std::vector<MapDimension>& outer) {
  TensorMapDescription map;
  const std::uint64_t bytes = element_bytes(problem);
  map.type = map_type(problem.data_type_q);
  map.swizzle = TensorMapDescription::Swizzle::bytes128;
  map.rank = static_cast<std::uint32_t>(outer.size() + 1);
  map.address = address;
  map.sizes[0] = columns;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    map.sizes[i + 1] = outer[i].size;
    const bool is_stepped = outer[i].size > 1;
    map.strides_bytes[i] = is_stepped ? static_cast<std::uint64_t>(outer[i].stride) * bytes : columns * bytes;
  }
  // Columns after the last one read as zeros.
  map.box = {box_columns(problem), 1, 1, 1, 1};
  return map;
}

struct KvSource {
  const DeviceTensor& tensor;
  std::uint32_t columns;
  long long outer;
  long long token;
  long long head;
};

// Returns whether the rows of K and V are whole blocks of columns, and their heads whole blocks
// apart. A coordinate of the map that counts blocks then selects the head, and a box has all
// columns of its rows.
bool has_whole_rows(const AttentionProblem& problem, const AttentionPrefillParameters& strides) {
  const std::uint32_t columns = box_columns(problem);
  return problem.head_dim_qk % columns == 0 && problem.head_dim_v % columns == 0 &&
         strides.k_head_stride % columns == 0 && strides.v_head_stride % columns == 0;
}
// Returns whether rows end within a block. A box then has a block of the rows of a page.
bool has_padded_rows(const AttentionProblem& problem) {
  const std::uint32_t columns = box_columns(problem);
  return problem.head_dim_qk % columns != 0 || problem.head_dim_v % columns != 0;
}

// The tokens of a page are groups of kGroupTokens.
TensorMapDescription paged_map_of(const AttentionProblem& problem, std::uint32_t box_tokens, bool whole_rows,
                                  const KvSource& kv) {
  const std::uint64_t heads = static_cast<std::uint64_t>(kv.head) * (problem.heads_kv - 1);
  const std::uint64_t page =
      heads + static_cast<std::uint64_t>(kv.token) * (problem.tokens_per_page - 1) + kv.columns;
  const MapDimension tokens{kGroupTokens, kv.token};
  const std::uint32_t block = box_columns(problem);
  const MapDimension blocks{(heads + kv.columns) / block, block};
  const MapDimension groups{problem.tokens_per_page / kGroupTokens, kGroupTokens * kv.token};
  const MapDimension pages{steps_in(problem, kv.tensor, kv.outer, page), kv.outer};
  TensorMapDescription map =
      map_of(problem, kv.tensor.address, whole_rows ? block : kv.columns,
             {tokens, whole_rows ? blocks : MapDimension{problem.heads_kv, kv.head}, groups, pages});
  map.box[1] = kGroupTokens;
  map.box[2] = whole_rows ? kv.columns / block : 1;
  map.box[3] = box_tokens / kGroupTokens;
  return map;
}

TensorMapDescription contiguous_map_of(const AttentionProblem& problem, std::uint32_t box_tokens,
                                       const KvSource& kv) {
  MapDimension tokens{problem.kv_len, kv.token};
  MapDimension sequences{problem.batch, kv.outer};
  if (problem.layout == QkvLayout::separate_qkv) {
    const auto heads = static_cast<std::uint64_t>(kv.head) * (problem.heads_kv - 1) + kv.columns;
    tokens.size = steps_in(problem, kv.tensor, kv.token, heads);
    sequences.size = 1;
  }
  TensorMapDescription map = map_of(problem, kv.tensor.address, kv.columns,
                                    {tokens, MapDimension{problem.heads_kv, kv.head}, sequences});
  map.box[1] = box_tokens;
  return map;
}

}  // namespace

void set_prefill_boxes(const AttentionProblem& problem, const PrefillTile& tile,
                       AttentionPrefillParameters& parameters) {
  if (problem.heads_kv == 1) parameters.k_head_stride = parameters.v_head_stride = 0;
  std::uint32_t tokens = tile.kv;
  if (problem.layout == QkvLayout::paged_kv) {
    const bool has_all_tokens = has_whole_rows(problem, parameters) || has_padded_rows(problem);
    tokens = has_all_tokens ? std::gcd(problem.tokens_per_page, tile.kv) : kGroupTokens;
  }
  parameters.box_tokens = static_cast<int>(tokens);
}

PrefillMaps prefill_maps(const AttentionProblem& problem, const PrefillTile& tile, const PrefillBlock& block,
                         const AttentionPrefillParameters& strides, const AttentionTensors& tensors) {
  MapDimension tokens{problem.q_len, strides.q_token_stride};
  MapDimension sequences{problem.batch, strides.q_batch_stride};
  if (problem.ragged_q) {
    const auto heads =
        static_cast<std::uint64_t>(strides.q_head_stride) * (problem.heads_q - 1) + problem.head_dim_qk;
    tokens.size = steps_in(problem, tensors.q, strides.q_token_stride, heads);
    sequences.size = 1;
  }
  PrefillMaps maps;
  maps.q = map_of(problem, tensors.q.address, problem.head_dim_qk,
                  {MapDimension{problem.heads_q, strides.q_head_stride}, tokens, sequences});
  maps.q.box[1] = block.tile_heads;
  const bool is_divided = kConsumerRows % block.tile_heads == 0;
  maps.q.box[2] = (is_divided ? kConsumerRows : tile.q) / block.tile_heads;
  const auto box = static_cast<std::uint32_t>(strides.box_tokens);
  const auto kv_map_of = [&](const KvSource& kv) {
    return problem.layout == QkvLayout::paged_kv
               ? paged_map_of(problem, box, has_whole_rows(problem, strides), kv)
               : contiguous_map_of(problem, box, kv);
  };
  maps.k = kv_map_of({tensors.k, problem.head_dim_qk, strides.k_outer_stride, strides.k_token_stride,
                      strides.k_head_stride});
  maps.v = kv_map_of(
      {tensors.v, problem.head_dim_v, strides.v_outer_stride, strides.v_token_stride, strides.v_head_stride});
  return maps;
}

}  // namespace cubinet
