// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the template `attention_decode_wgmma` that follow from its parameters.
#include <cubinet/math.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/swizzle.cuh>
#include <cubinet/types.cuh>

namespace cubinet::attention {

using namespace parameters;

// Blocks of a cluster, which take as many tiles of a sequence side by side.
constexpr int kClusterSize = 1;

template <typename T>
struct ProductOf {
  using Type = T;
};
template <>
struct ProductOf<e4m3> {
  using Type = fp16;
};
// What the tensor cores multiply.
using Product = ProductOf<dtype_kv>::Type;
constexpr bool kConvertsKv = !is_same<Product, dtype_kv>;

constexpr int kSlice = tile_size_kv;  // tokens that are multiplied at a time
constexpr int kPagesOfSlice = maximum(kSlice / page_size, 1);
constexpr int kPageTables = separate_page_tables ? 2 : 1;
constexpr int kWarpRows = 16;
constexpr int kWarpsQ = 4;
constexpr int kWarpsKv = 1;
constexpr int kGroupThreads = 32 * kWarpsQ;
constexpr int kThreads = kGroupThreads;  // one warpgroup
constexpr int kElementBytes = sizeof(dtype_kv);
constexpr int kRowBytesQ = head_dim_qk * int{sizeof(Product)};
constexpr int kRowBytesK = head_dim_qk * kElementBytes;
constexpr int kRowBytesV = head_dim_v * kElementBytes;
constexpr int kSliceBytesK = kSlice * kRowBytesK;
constexpr int kSliceBytesV = kSlice * kRowBytesV;
constexpr int kRingBytes = stages * (kSliceBytesK + kSliceBytesV);
constexpr int kQBytes = tile_size_q * kRowBytesQ;
// What a warpgroup converted, K, then V, lies before its ring.
constexpr int kConvertedBytesK = kConvertsKv ? kSlice * head_dim_qk * int{sizeof(Product)} : 0;
constexpr int kConvertedBytesV = kConvertsKv ? kSlice * head_dim_v * int{sizeof(Product)} : 0;
// 8 floats of padding put the rows that one store instruction touches into different banks.
constexpr int kMergeStride = head_dim_v + 8;
constexpr int kMergeBytes = tile_size_q * (kMergeStride + 2) * 4;
constexpr int kWorkBytes = maximum(kConvertedBytesK + kConvertedBytesV + kRingBytes, kMergeBytes);
constexpr int kQScaleBytes = kConvertsKv ? tile_size_q * 4 : 0;
constexpr int kSharedBytes = kQBytes + kWorkBytes + kQScaleBytes;
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kTilesV = head_dim_v / 8;
constexpr int kRegisters = maximum(head_dim_qk, head_dim_v) <= 64 ? 168 : 255;  // that a thread may need
constexpr int kBlocksPerSm = maximum(65536 / (kThreads * kRegisters), 1);

static_assert(tile_size_q == 16 * kWarpsQ, "a warpgroup multiplies 64 rows");
static_assert(attention_decode_wgmma_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_decode_wgmma_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention
