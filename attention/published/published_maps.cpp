// SPDX-License-Identifier: Apache-2.0
#include "published_maps.hpp"

#include "size_limits.hpp"

#include <algorithm>

namespace cubinet {
namespace {

// The most bytes of a box's first row: the widest swizzle.
constexpr std::uint32_t kBoxRowBytes = 128;
// The elements of a full row, which is not combined with the row of a second token.
constexpr std::uint32_t kFullRow = 128;
constexpr std::uint32_t kScaledElements = 16;  // elements that share a block's scale
constexpr std::uint32_t kScaleRow = 128;       // scales in a row of their map

TensorMapDescription::Type type_of(DataType type) {
  if (type == DataType::fp16) return TensorMapDescription::Type::fp16;
  return type == DataType::bf16 ? TensorMapDescription::Type::bf16 : TensorMapDescription::Type::uint8;
}

TensorMapDescription::Swizzle swizzle_of(std::uint64_t row_bytes) {
  if (row_bytes % 128 == 0) return TensorMapDescription::Swizzle::bytes128;
  if (row_bytes % 64 == 0) return TensorMapDescription::Swizzle::bytes64;
  return row_bytes % 32 == 0 ? TensorMapDescription::Swizzle::bytes32 : TensorMapDescription::Swizzle::none;
}

std::uint32_t box_row(TensorMapDescription::Type type, std::uint64_t row) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(kBoxRowBytes * 8 / bits_of(type), row));
}

// Strides in elements. All are filled in, also for a contiguous tensor.
struct Strides {
  std::uint64_t outer = 0;
  std::uint64_t token = 0;
  std::uint64_t head = 0;
};

Strides strides_of(const DeviceTensor& tensor, const Strides& contiguous) {
  if (tensor.is_contiguous()) return contiguous;
  return {static_cast<std::uint64_t>(tensor.strides[0]), static_cast<std::uint64_t>(tensor.strides[1]),
          static_cast<std::uint64_t>(tensor.strides[2])};
}

std::uint64_t bytes_of(std::uint64_t elements, DataType type) {
  return elements * bits_of(type) / 8;
}

// Returns the number of tokens of a tensor whose sequences are stored one behind the other: its
// capacity, at most `most`. Offsets are int32, so no kernel reaches more than kLargestCount.
std::uint64_t tokens_of(const DeviceTensor& tensor, std::uint64_t token_elements, DataType type,
                        std::uint64_t most) {
  const std::uint64_t room = tensor.bytes / std::max<std::uint64_t>(bytes_of(token_elements, type), 1);
  return std::min({most, room, kLargestCount});
}

// [tokens, KV heads, heads of a group, columns]
TensorMapDescription query_map(const PublishedLaunch& launch, const DeviceTensor& q) {
  const AttentionProblem& problem = launch.problem;
  const std::uint64_t columns = problem.head_dim_qk;
  const Strides strides = strides_of(q, {0, problem.heads_q * columns, columns});
  const std::uint32_t heads = launch.heads_per_row();
  const std::uint32_t tile = launch.kernel.selector.tile_size_q;
  TensorMapDescription map;
  map.type = type_of(problem.data_type_q);
  map.rank = 4;
  map.address = q.address;
  map.sizes = {columns, heads, problem.heads_q / heads, query_tokens(launch, q), 1};
  map.strides_bytes = {bytes_of(strides.head, problem.data_type_q),
                       bytes_of(heads * strides.head, problem.data_type_q),
                       bytes_of(strides.token, problem.data_type_q)};
  map.box = {box_row(map.type, columns), 1, 1, tile, 1};
  if (launch.kernel.selector.groups_tokens_heads_q) {
    map.box = {map.box[0], heads, 1, tile / heads, 1};
  } else if (launch.kernel.traits.groups_heads_q) {
    map.box = {map.box[0], tile, 1, 1, 1};
  }
  map.swizzle = swizzle_of(bytes_of(map.box[0], problem.data_type_q));
  return map;
}

// The shape [KV heads, tokens, …] of K or V, from the pool or from contiguous sequences.
struct KvShape {
  std::uint64_t columns = 0;
  std::uint64_t tokens = 0;  // of a page, or of all sequences
  std::uint64_t outer = 1;   // pages
  Strides strides;
};

// Rows of pages are as wide as the wider of K and V.
std::uint64_t kv_columns(const AttentionProblem& problem, bool is_v) {
  if (problem.layout == QkvLayout::paged_kv) return std::max(problem.head_dim_qk, problem.head_dim_v);
  return is_v ? problem.head_dim_v : problem.head_dim_qk;
}

Strides contiguous_kv(const AttentionProblem& problem, std::uint64_t columns) {
  const std::uint64_t page = problem.tokens_per_page;
  const bool by_head = problem.layout == QkvLayout::paged_kv && problem.kv_order == KvOrder::hnd;
  if (by_head) return {problem.heads_kv * page * columns, columns, page * columns};
  return {problem.heads_kv * page * columns, problem.heads_kv * columns, columns};
}

std::uint64_t kv_tokens(const PublishedLaunch& launch, const DeviceTensor& tensor, bool is_v) {
  const AttentionProblem& problem = launch.problem;
  const std::uint64_t columns = kv_columns(problem, is_v);
  return tokens_of(tensor, strides_of(tensor, contiguous_kv(problem, columns)).token,
                   is_v ? problem.data_type_v : problem.data_type_k,
                   std::uint64_t{problem.batch} * problem.kv_len);
}

KvShape kv_shape(const PublishedLaunch& launch, const DeviceTensor& tensor, bool is_v, std::uint64_t pages) {
  const AttentionProblem& problem = launch.problem;
  KvShape shape;
  shape.columns = kv_columns(problem, is_v);
  shape.strides = strides_of(tensor, contiguous_kv(problem, shape.columns));
  if (launch.is_paged()) {
    shape.tokens = problem.tokens_per_page;
    shape.outer = pages;
  } else {
    shape.tokens = kv_tokens(launch, tensor, is_v);
    const bool no_stride = launch.layout->counts_tokens_of_cta && problem.layout == QkvLayout::separate_qkv;
    shape.strides.outer = no_stride ? 0 : shape.tokens * shape.strides.token;
  }
  return shape;
}

// Returns whether the copy expands 4-bit K and V to bytes.
bool is_padded(const PublishedLaunch& launch) {
  return launch.problem.data_type_k == DataType::e2m1 && !launch.is_context() &&
         kv_reshape(launch.problem, *launch.layout) == 1;
}

TensorMapDescription kv_map(const PublishedLaunch& launch, const DeviceTensor& tensor, bool is_v,
                            std::uint64_t pages) {
  const AttentionProblem& problem = launch.problem;
  const DataType type = is_v ? problem.data_type_v : problem.data_type_k;
  const KvShape shape = kv_shape(launch, tensor, is_v, pages);
  const std::uint32_t reshape = kv_reshape(problem, *launch.layout);
  TensorMapDescription map;
  map.type = is_padded(launch) ? TensorMapDescription::Type::padded_4bit : type_of(type);
  map.rank = 4;
  map.address = tensor.address;
  // A map of bytes counts two 4-bit elements as one.
  const bool halved = type == DataType::e2m1 && map.type == TensorMapDescription::Type::uint8;
  const std::uint64_t row = (halved ? shape.columns / 2 : shape.columns) * reshape;
  map.sizes = {row, shape.tokens / reshape, problem.heads_kv, shape.outer, 1};
  map.strides_bytes = {bytes_of(shape.strides.token * reshape, type), bytes_of(shape.strides.head, type),
                       bytes_of(shape.strides.outer, type)};
  const std::uint64_t tile = launch.kernel.selector.tile_size_kv;
  const std::uint64_t tokens =
      launch.is_paged() ? std::min<std::uint64_t>(problem.tokens_per_page, tile) : tile;
  const std::uint32_t widest = halved ? kBoxRowBytes / 2 : box_row(map.type, row);
  map.box = {static_cast<std::uint32_t>(std::min<std::uint64_t>(widest, row)),
             static_cast<std::uint32_t>(tokens / reshape), 1, 1, 1};
  if (map.type == TensorMapDescription::Type::padded_4bit) {
    map.box[0] = kFullRow;
    map.swizzle = TensorMapDescription::Swizzle::bytes128;
  } else if (type == problem.data_type_q) {
    map.swizzle = swizzle_of(bytes_of(map.box[0], type));
  }
  return map;
}

// Describes the scales of a page's blocks, head by head: e4m3, one for 16 elements.
TensorMapDescription block_scale_map(const PublishedLaunch& launch, const DeviceTensor& scales,
                                     std::uint64_t pages) {
  const AttentionProblem& problem = launch.problem;
  const std::uint64_t columns = kv_columns(problem, false);
  const std::uint64_t of_head = problem.tokens_per_page * columns / kScaledElements;
  const std::uint64_t row = std::min<std::uint64_t>(kScaleRow, of_head);
  const std::uint64_t tokens =
      std::min<std::uint64_t>(problem.tokens_per_page, launch.kernel.selector.tile_size_kv);
  TensorMapDescription map;
  map.type = TensorMapDescription::Type::uint8;
  map.rank = 4;
  map.address = scales.address;
  map.sizes = {row, of_head / row, problem.heads_kv, pages, 1};
  map.strides_bytes = {row, of_head, problem.heads_kv * of_head};
  map.box = {static_cast<std::uint32_t>(row),
             static_cast<std::uint32_t>(tokens * columns / kScaledElements / row), 1, 1, 1};
  return map;
}

// Describes O as [heads of a group, KV heads, tokens, columns], of the element type of Q.
TensorMapDescription output_map(const PublishedLaunch& launch, const DeviceTensor& o,
                                std::uint64_t query_tokens) {
  const AttentionProblem& problem = launch.problem;
  const std::uint64_t columns = problem.head_dim_v;
  const DataType type = problem.data_type_q;
  TensorMapDescription map;
  map.type = type_of(type);
  map.rank = 5;
  map.address = o.address;
  map.sizes = {columns, query_tokens, problem.heads_kv, problem.group_size(), 1};
  map.strides_bytes = {bytes_of(problem.heads_q * columns, type), bytes_of(columns, type),
                       bytes_of(problem.heads_kv * columns, type), 0};
  map.box = {box_row(map.type, problem.head_dim_qk), launch.kernel.selector.tile_size_q, 1, 1, 1};
  map.swizzle = swizzle_of(bytes_of(map.box[0], type));
  return map;
}

}  // namespace

std::uint32_t kv_reshape(const AttentionProblem& problem, const ArgumentLayout& layout) {
  const std::uint32_t columns = std::max(problem.head_dim_qk, problem.head_dim_v);
  const bool converts = problem.data_type_q != problem.data_type_k;
  if (!layout.has(ArgumentMember::kv_reshape) || !converts || columns >= kFullRow) return 1;
  return kFullRow / columns;
}

std::uint64_t query_tokens(const PublishedLaunch& launch, const DeviceTensor& q) {
  const AttentionProblem& problem = launch.problem;
  const std::uint64_t most = query_tokens(problem);
  if (!problem.ragged_q) return most;
  const std::uint64_t columns = problem.head_dim_qk;
  return tokens_of(q, strides_of(q, {0, problem.heads_q * columns, columns}).token, problem.data_type_q,
                   most);
}

std::uint64_t kv_tokens(const PublishedLaunch& launch, const DeviceTensor& k) {
  return launch.is_paged() ? 0 : kv_tokens(launch, k, false);
}

std::uint64_t pool_pages(const PublishedLaunch& launch, const AttentionTensors& tensors) {
  if (!launch.is_paged()) return 0;
  const AttentionProblem& problem = launch.problem;
  const std::uint64_t columns = kv_columns(problem, false);
  const std::uint64_t page = strides_of(tensors.k, contiguous_kv(problem, columns)).outer;
  const std::uint64_t pages =
      tensors.k.bytes / std::max<std::uint64_t>(bytes_of(page, problem.data_type_k), 1);
  return problem.is_mla_generation() ? pages : 2 * pages;
}

std::size_t published_maps(const PublishedLaunch& launch, const AttentionTensors& tensors,
                           std::span<PlacedTensorMap, kMaximumTensorMaps> maps) {
  const std::uint64_t pages = pool_pages(launch, tensors);
  std::size_t count = 0;
  const auto add = [&](ArgumentMember member, const TensorMapDescription& map) {
    maps[count++] = {launch.layout->offset_of(member), map};
  };
  const DeviceTensor& v = launch.problem.is_mla_generation() ? tensors.k : tensors.v;
  add(ArgumentMember::map_q, query_map(launch, tensors.q));
  add(ArgumentMember::map_k, kv_map(launch, tensors.k, false, pages));
  add(ArgumentMember::map_v, kv_map(launch, v, true, pages));
  if (launch.problem.data_type_k == DataType::e2m1) {
    add(ArgumentMember::map_k_scales, block_scale_map(launch, tensors.k_block_scales, pages));
    add(ArgumentMember::map_v_scales, block_scale_map(launch, tensors.v_block_scales, pages));
  }
  add(ArgumentMember::map_o, output_map(launch, tensors.o, query_tokens(launch, tensors.q)));
  return count;
}

}  // namespace cubinet
