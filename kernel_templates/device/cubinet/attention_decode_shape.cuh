// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the template `attention_decode` that follow from its parameters.
#include <cubinet/e4m3.cuh>
#include <cubinet/kernel_templates/attention_decode_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention {

using namespace parameters;
using kernel_templates::AttentionDecodeParameters;

// Blocks of a cluster, which take as many tiles of a sequence side by side.
constexpr int kClusterSize = 1;

// What the tensor cores multiply.
using Product = ProductOf<dtype_kv>::Type;
constexpr bool kConvertsKv = !is_same<Product, dtype_kv>;

// Tiles of 16 rows that a warp multiplies with what it reads: two, where what it reads has to be converted.
constexpr int kRowTiles = kConvertsKv && tile_size_q == 32 && head_dim_v <= 128 ? 2 : 1;
// Tokens that a warp takes at a time. Where four warps share them, each waits for the others, and elements of
// eight bits take longer from their arrival to their product: twice as many halve that, and give a warp
// independent products while one waits for another. Beside the accumulators of 256 columns they have no
// registers.
constexpr int kSlice = (tile_size_q == 64 || kConvertsKv) && head_dim_v <= 128 ? 32 : 16;
constexpr int kPagesOfSlice = maximum(kSlice / page_size, 1);
constexpr int kPageTables = separate_page_tables ? 2 : 1;
constexpr int kWarpRows = 16 * kRowTiles;
constexpr int kWarpsQ = tile_size_q / kWarpRows;
constexpr int kWarpsKv = tile_size_kv / kSlice;
constexpr int kGroupThreads = 32 * kWarpsQ;  // the warps that share one slice
constexpr int kThreads = kGroupThreads * kWarpsKv;
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
constexpr int kWorkBytes = maximum(kWarpsKv * kRingBytes, kMergeBytes);
constexpr int kPieceBytes = kRowTiles == 2 ? 64 : 0;  // see keep_piece
constexpr int kQScaleBytes = kConvertsKv ? tile_size_q * 4 + kPieceBytes : 0;
constexpr int kSharedBytes = kQBytes + kWorkBytes + kQScaleBytes;
// Q's fragments of a head dim of 256 beside its accumulators would not fit the registers. Those of 64 have
// half as many, which slices of 32 tokens with a window or several pages pass by a word or two.
constexpr int kWidestHead = maximum(head_dim_qk, head_dim_v);
constexpr bool kQInRegisters = kRowTiles == 1 && kWidestHead <= 128 &&
                              (kWidestHead > 64 || kSlice == 16 || (!sliding_window && page_size > kSlice));
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kTilesV = head_dim_v / 8;
// What a thread needs without spilling, by the accumulators and Q's fragments that it holds; left to itself,
// ptxas spills a word to fit one block more.
constexpr bool kManyValues = page_size == 8 && separate_page_tables && sliding_window;
constexpr int kRegisters = kWidestHead > 64 || kRowTiles == 2 ? 255 : kManyValues ? 168 : 128;
constexpr int kBlocksPerSm = maximum(65536 / (kThreads * kRegisters), 1);

static_assert(attention_decode_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_decode_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");
static_assert(page_size % kSlice == 0 || kSlice % page_size == 0, "a slice is of whole pages or in one");
#if __CUDA_ARCH__ < 890
static_assert(sizeof(dtype_o) != 1, "dtype_o e4m3 needs a target from sm_89 on");
#endif

}  // namespace cubinet::attention
