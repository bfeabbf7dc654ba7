// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the template `attention_wide` that follow from its parameters.
#include <cubinet/e4m3.cuh>
#include <cubinet/math.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention {

using namespace parameters;

// Blocks of a cluster, which take as many tiles of a sequence side by side.
constexpr int kClusterSize = 1;

using Product = ProductOf<dtype_kv>::Type;
constexpr bool kConvertsKv = !is_same<Product, dtype_kv>;
constexpr bool kLatent = head_dim_qk == 576;  // V is the first columns of K

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kWarpRows = 16;
constexpr int kRowTiles = tile_size_q / kWarpRows;
// Tokens of a step whose weights a warp holds at a time. Beside the accumulators of 64 rows there are few registers.
constexpr bool kFewRegisters = tile_size_q == 64 && (soft_cap || mask == mask_values::custom);
constexpr int kSlice = minimum(tile_size_kv, kFewRegisters ? 16 : 32);
constexpr int kWarpColumns = head_dim_v / kWarps;
constexpr int kTilesV = kWarpColumns / 8;
constexpr int kRegisters = 255;

// How the logits of a step are divided among the warps: rows, tokens and parts of the head dim.
constexpr int kWarpsRows = kRowTiles;
constexpr int kWarpsTokens = minimum(minimum(kWarps / kWarpsRows, tile_size_kv / 8), 4);
constexpr int kWarpsDim = kWarps / kWarpsRows / kWarpsTokens;
constexpr int kWarpTokens = tile_size_kv / kWarpsTokens;
constexpr int kPairs = head_dim_qk / 32;                    // of products of 16 columns
constexpr int kWarpPairs = divide_up(kPairs, kWarpsDim);  // every kWarpsDim-th
// How much of a warp's part of Q its registers hold: that of one row tile.
constexpr int kKeptPairs = tile_size_q > 16 ? 0 : kWarpPairs;
// Whether the weights of a step are computed once, and exchanged too. Of what is both K and V a step more is in use then,
// for which there is not always room.
constexpr bool kSharesWeights = tile_size_q < 64 && tile_size_kv >= 32 && stages >= (kLatent ? 4 : 3);
// How many steps ahead of the product P V the logits are computed.
constexpr int kLead = kSharesWeights ? 2 : 1;

constexpr int kElementBytes = sizeof(dtype_kv);
constexpr int kPairChunks = 4 * kElementBytes / int{sizeof(Product)};  // of 16 bytes of K
constexpr int kRowBytesQ = head_dim_qk * int{sizeof(Product)};
constexpr int kRowBytesK = head_dim_qk * kElementBytes;
constexpr int kRowBytesV = kLatent ? kRowBytesK : head_dim_v * kElementBytes;
constexpr int kStepBytesK = tile_size_kv * kRowBytesK;
constexpr int kStepBytesV = tile_size_kv * kRowBytesV;
constexpr int kRingBytes = stages * (kStepBytesK + (kLatent ? 0 : kStepBytesV));
constexpr int kQBytes = tile_size_q * kRowBytesQ;
// 8 floats of padding put the rows that one instruction touches into different banks.
constexpr int kLogitStride = tile_size_kv + 8;
constexpr int kLogitBytes = kWarpsDim * tile_size_q * kLogitStride * 4;  // of a step
// 16 bytes of padding do the same for ldmatrix.
constexpr int kWeightStride = tile_size_kv * int{sizeof(Product)} + 16;  // bytes
constexpr int kWeightBytes = kSharesWeights ? tile_size_q * (kWeightStride + 4) : 0;  // and corrections, of a step
constexpr int kMergeStride = head_dim_v + 8;
constexpr int kMergeBytes = tile_size_q * (kMergeStride + 2) * 4;
constexpr int kWorkBytes = maximum(kRingBytes + 2 * (kLogitBytes + kWeightBytes), kMergeBytes);
constexpr int kQScaleBytes = kConvertsKv ? tile_size_q * 4 : 0;
constexpr int kSharedBytes = kQBytes + kWorkBytes + kQScaleBytes;

static_assert(kWarpsRows * kWarpsTokens * kWarpsDim == kWarps,
              "the warps divide the logits evenly");
static_assert(kWarpTokens == 16 || (kWarpTokens == 8 && !kConvertsKv), "one ldmatrix brings the tokens of a warp");
static_assert(attention_wide_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_wide_shared_bytes == kSharedBytes, "the host's formula of the shared memory differs");
#if __CUDA_ARCH__ < 890
static_assert(sizeof(dtype_o) != 1, "dtype_o e4m3 needs a target from sm_89 on");
#endif

}  // namespace cubinet::attention
