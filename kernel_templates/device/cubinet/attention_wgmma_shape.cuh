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

using Product = dtype_kv;  // what the tensor cores multiply
constexpr bool kConvertsKv = false;

constexpr int kWidest = maximum(head_dim_qk, head_dim_v);
constexpr int kSlice = tile_size_kv;  // tokens that are multiplied at a time
constexpr int kPagesOfSlice = maximum(kSlice / page_size, 1);
constexpr int kPageTables = separate_page_tables ? 2 : 1;
constexpr int kWarpRows = 16;
constexpr int kWarpsQ = 4;
constexpr int kWarpsKv = 1;
constexpr int kGroupThreads = 32 * kWarpsQ;
constexpr int kThreads = kGroupThreads;
constexpr int kElementBytes = sizeof(dtype_kv);
constexpr int kRowBytesQ = head_dim_qk * int{sizeof(Product)};
constexpr int kRowBytesK = head_dim_qk * kElementBytes;
constexpr int kRowBytesV = head_dim_v * kElementBytes;
constexpr int kSliceBytesK = kSlice * kRowBytesK;
constexpr int kSliceBytesV = kSlice * kRowBytesV;
constexpr int kRingBytes = stages * (kSliceBytesK + kSliceBytesV);
constexpr int kQBytes = tile_size_q * kRowBytesQ;
// 8 floats of padding put the rows that one store instruction touches into different banks.
constexpr int kMergeStride = head_dim_v + 8;
constexpr int kMergeBytes = kWarpsKv * tile_size_q * (kMergeStride + 2) * 4;
constexpr int kWorkBytes = maximum(kRingBytes, kMergeBytes);
constexpr int kSharedBytes = kQBytes + kWorkBytes;
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kTilesV = head_dim_v / 8;
constexpr int kBlocksPerSm = kWidest <= 64 ? 3 : 2;

static_assert(tile_size_q == kWarpRows * kWarpsQ, "a warpgroup multiplies 64 rows");
static_assert(attention_decode_wgmma_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_decode_wgmma_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention
