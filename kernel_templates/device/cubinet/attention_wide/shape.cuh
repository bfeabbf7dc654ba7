// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the template `attention_wide`, computed from its parameters.
#include <cubinet/attention/shape.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention_wide {

using namespace parameters;
using namespace attention;

struct Declared {
  using Q = dtype_q;
  using Kv = dtype_kv;
  using Output = dtype_o;
  static constexpr int kHeadDimQk = head_dim_qk;
  static constexpr int kHeadDimV = head_dim_v;
  static constexpr int kTileQ = tile_size_q;
  static constexpr int kPageSize = page_size;
  static constexpr int kClusterSize = 1;
  static constexpr bool kCausal = mask == mask_values::causal;
  static constexpr bool kCustomMask = mask == mask_values::custom;
  static constexpr bool kSlidingWindow = sliding_window;
  static constexpr bool kSoftCap = soft_cap;
  static constexpr bool kSeparatePageTables = separate_page_tables;
};

constexpr bool kLatent = head_dim_qk == 576;  // V is the first columns of K
constexpr int kWarps = 8;
constexpr int kWarpColumns = head_dim_v / kWarps;
// The accumulators of 64 rows leave few registers.
constexpr bool kFewRegisters = tile_size_q == 64 && (soft_cap || mask == mask_values::custom);

struct Shape : BasicShape<Declared> {
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kStep = tile_size_kv;
  // The tokens of a step whose weights a warp holds at a time.
  static constexpr int kSlice = minimum(kStep, kFewRegisters ? 16 : 32);
  static constexpr int kTilesV = kWarpColumns / 8;
  static constexpr int kRowBytesV = kLatent ? kRowBytesK : kHeadDimV * kElementBytes;
};
using Product = Shape::Product;
constexpr bool kConvertsKv = Shape::kConvertsKv;
constexpr int kSlice = Shape::kSlice;
constexpr int kSlices = tile_size_kv / kSlice;  // slices of a step
constexpr int kTilesS = kSlice / 8;
constexpr int kTilesV = Shape::kTilesV;
constexpr int kWarpRows = 16;
constexpr int kRowTiles = tile_size_q / kWarpRows;

// The warps divide the logits of a step by rows, tokens and parts of the head dim.
constexpr int kWarpsRows = kRowTiles;
constexpr int kWarpsTokens = minimum(minimum(kWarps / kWarpsRows, tile_size_kv / 8), 4);
constexpr int kWarpsDim = kWarps / kWarpsRows / kWarpsTokens;
constexpr int kWarpTokens = tile_size_kv / kWarpsTokens;
constexpr int kPairs = head_dim_qk / 32;                  // pairs of 16-column products
constexpr int kWarpPairs = divide_up(kPairs, kWarpsDim);  // a warp has every kWarpsDim-th pair
// The pairs of Q that a warp keeps in registers, which is possible for one tile of rows.
constexpr int kKeptPairs = tile_size_q > 16 ? 0 : kWarpPairs;
// If true, the warps compute the weights of a step once and exchange them too. The ring of latent
// attention then needs one more step, for which there is not always room.
constexpr bool kSharesWeights = tile_size_q < 64 && tile_size_kv >= 32 && stages >= (kLatent ? 4 : 3);
// The steps between the logits of a step and its product P V.
constexpr int kLead = kSharesWeights ? 2 : 1;

// Bytes of shared memory.
constexpr int kPairChunks = 4 * Shape::kElementBytes / int{sizeof(Product)};  // 16-byte chunks of K
constexpr int kStepBytesK = tile_size_kv * Shape::kRowBytesK;
constexpr int kStepBytesV = tile_size_kv * Shape::kRowBytesV;
constexpr int kRingBytes = stages * (kStepBytesK + (kLatent ? 0 : kStepBytesV));
// 8 floats of padding put the rows that one instruction accesses into different banks.
constexpr int kLogitStride = tile_size_kv + 8;
constexpr int kLogitBytes = kWarpsDim * tile_size_q * kLogitStride * 4;  // logits of a step
// 16 bytes of padding do the same for ldmatrix.
constexpr int kWeightStride = tile_size_kv * int{sizeof(Product)} + 16;  // bytes
constexpr int kWeightBytes =
    kSharesWeights ? tile_size_q * (kWeightStride + 4) : 0;  // weights and corrections of a step
constexpr int kMergeBytes = tile_size_q * Shape::kOutputRowBytes;
constexpr int kWorkBytes = maximum(kRingBytes + 2 * (kLogitBytes + kWeightBytes), kMergeBytes);
constexpr int kQScaleBytes = kConvertsKv ? tile_size_q * 4 : 0;
constexpr int kSharedBytes = Shape::kQBytes + kWorkBytes + kQScaleBytes;

static_assert(kWarpsRows * kWarpsTokens * kWarpsDim == kWarps, "the warps divide the logits evenly");
static_assert(kWarpTokens == 16 || (kWarpTokens == 8 && !kConvertsKv),
              "one ldmatrix loads the tokens of a warp");
static_assert(attention_wide_threads == Shape::kThreads, "the host's formula of the CTA size differs");
static_assert(attention_wide_shared_bytes == kSharedBytes, "the host's formula of the shared memory differs");

}  // namespace cubinet::attention_wide
