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
// Two warpgroups a block take its slices in turns and share its Q: what one waits for between its conversions,
// products and exponentials the others of a multiprocessor fill, four instead of two. Of specifications alone whose
// loop fits into the registers there are then.
constexpr bool kSharesBlock = kConvertsKv && head_dim_qk == 64 && head_dim_v == 64 && page_size >= kSlice &&
                              !sliding_window && !soft_cap && !separate_page_tables && !is_same<dtype_o, fp32>;
constexpr int kWarpsKv = kSharesBlock ? 2 : 1;
constexpr int kGroupThreads = 32 * kWarpsQ;
constexpr int kThreads = kGroupThreads * kWarpsKv;
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
constexpr int kMergeBytes = kWarpsKv * tile_size_q * (kMergeStride + 2) * 4;
constexpr int kGroupBytes = kConvertedBytesK + kConvertedBytesV + kRingBytes;
constexpr int kWorkBytes = maximum(kWarpsKv * kGroupBytes, kMergeBytes);
constexpr int kQScaleBytes = kConvertsKv ? tile_size_q * 4 : 0;
constexpr int kKeptOfBlock = 64;  // bytes of the division of work
constexpr int kKeptBytes = kSharesBlock ? kKeptOfBlock : 0;
constexpr int kSharedBytes = kQBytes + kWorkBytes + kQScaleBytes + kKeptBytes;
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kTilesV = head_dim_v / 8;
// That a thread may need.
constexpr int kRegisters = kSharesBlock ? 128 : maximum(head_dim_qk, head_dim_v) <= 64 ? 168 : 255;
constexpr int kBlocksPerSm = maximum(65536 / (kThreads * kRegisters), 1);

static_assert(tile_size_q == 16 * kWarpsQ, "a warpgroup multiplies 64 rows");
static_assert(attention_decode_wgmma_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_decode_wgmma_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

// This thread's warpgroup.
__device__ inline int warpgroup_of_block() {
  return kWarpsKv == 1 ? 0 : static_cast<int>(threadIdx.x) / kGroupThreads;
}

}  // namespace cubinet::attention
