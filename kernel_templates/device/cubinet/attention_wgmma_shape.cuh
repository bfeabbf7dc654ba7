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

constexpr int kWidest = maximum(head_dim_qk, head_dim_v);
constexpr int kSlice = tile_size_kv;  // tokens that are multiplied at a time
constexpr int kPagesOfSlice = maximum(kSlice / page_size, 1);
constexpr int kPageTables = separate_page_tables ? 2 : 1;
constexpr int kWarpRows = 16;
constexpr int kWarpsQ = 4;
constexpr int kWarpsKv = 1;
constexpr int kGroupThreads = 32 * kWarpsQ;
// A warpgroup multiplies 64 rows of the tile; of KV that is converted another copies and converts, for all of them.
constexpr int kGroupRows = kWarpRows * kWarpsQ;
constexpr int kStoringThreads = tile_size_q / kGroupRows * kGroupThreads;
constexpr int kThreads = kStoringThreads + (kConvertsKv ? kGroupThreads : 0);
constexpr int kElementBytes = sizeof(dtype_kv);
constexpr int kRowBytesQ = head_dim_qk * int{sizeof(Product)};
constexpr int kRowBytesK = head_dim_qk * kElementBytes;
constexpr int kRowBytesV = head_dim_v * kElementBytes;
constexpr int kSliceBytesK = kSlice * kRowBytesK;
constexpr int kSliceBytesV = kSlice * kRowBytesV;
constexpr int kRingBytes = stages * (kSliceBytesK + kSliceBytesV);
constexpr int kQBytes = tile_size_q * kRowBytesQ;
// What was converted lies before the ring. Where K of two slices has room beside blocks of the same multiprocessor,
// a warpgroup computes the next slice's logits before it multiplies V.
constexpr bool kLooksAhead = kConvertsKv && (tile_size_q > kGroupRows || kWidest <= 64);
constexpr int kPlacesK = kLooksAhead ? 2 : 1;
constexpr int kPlacesV = 2;
constexpr int kConvertedBytesK = kConvertsKv ? kSlice * head_dim_qk * int{sizeof(Product)} : 0;
constexpr int kConvertedBytesV = kConvertsKv ? kSlice * head_dim_v * int{sizeof(Product)} : 0;
constexpr int kConvertedBytes = kPlacesK * kConvertedBytesK + kPlacesV * kConvertedBytesV;
// 8 floats of padding put the rows that one store instruction touches into different banks.
constexpr int kMergeStride = head_dim_v + 8;
constexpr int kMergeBytes = kWarpsKv * tile_size_q * (kMergeStride + 2) * 4;
constexpr int kWorkBytes = maximum(kConvertedBytes + kRingBytes, kMergeBytes);
constexpr int kQScaleBytes = kConvertsKv ? tile_size_q * 4 : 0;
constexpr int kBarrierBytes = kConvertsKv ? 64 : 0;
constexpr int kSharedBytes = kQBytes + kWorkBytes + kQScaleBytes + kBarrierBytes;
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kTilesV = head_dim_v / 8;
// Three blocks of narrow heads share a multiprocessor where what they look up and mask leaves room for it in their
// registers.
constexpr bool kThreeBlocks = kWidest <= 64 && kPagesOfSlice * kPageTables <= 4 && !(soft_cap && mask == mask_values::custom);
constexpr int kBlocksPerSm = tile_size_q > kGroupRows || kConvertsKv && kWidest > 128 ? 1
                             : kConvertsKv && kThreeBlocks || !kConvertsKv && kWidest <= 64 ? 3
                                                                                           : 2;
// A thread's registers, where the warpgroups that multiply take some from the one that converts.
constexpr bool kMovesRegisters = kConvertsKv && kWidest <= 128;
constexpr int kLaunchRegisters = 65536 / (kThreads * kBlocksPerSm) / 8 * 8;
constexpr int kConvertRegisters = kBlocksPerSm == 3 ? 48 : 88;
constexpr int kProductRegisters =
    (kLaunchRegisters * kThreads - kConvertRegisters * kGroupThreads) / kStoringThreads;

static_assert(tile_size_q % kGroupRows == 0, "a warpgroup multiplies 64 rows");
static_assert(attention_decode_wgmma_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_decode_wgmma_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention
