// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the template `attention_decode`, computed from its parameters.
#include <cubinet/attention/invariant.cuh>
#include <cubinet/attention/shape.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention_decode {

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

struct Shape : BasicShape<Declared> {
  static constexpr bool kInvariant = numerics == numerics_values::invariant;
  // The 16-row tiles that a warp multiplies with the KV it loads. There are two if KV is converted,
  // the Q tile has 32 rows and V has at most 128 columns: KV is then converted once for both.
  static constexpr int kRowTiles = kConvertsKv && kTileQ == 32 && kHeadDimV <= 128 ? 2 : 1;
  static constexpr int kWarpRows = 16 * kRowTiles;
  // The tokens of a slice. Slices of 32 tokens halve two costs per token: with 64 rows, the wait of
  // the four warps that share a slice for each other; with converted KV, the time from arrival to
  // product. They also give a warp independent products to overlap. With more than 128 columns of V
  // the accumulators leave no registers for slices of 32 tokens. With invariant numerics a slice is
  // a step.
  static constexpr int kSlice = kInvariant                                          ? kInvariantStep
                                : (kTileQ == 64 || kConvertsKv) && kHeadDimV <= 128 ? 32
                                                                                    : 16;
  static constexpr int kWarpsQ = kTileQ / kWarpRows;
  // The warps that share rows, with invariant numerics: each multiplies Q with a part of the tokens
  // of a slice, and the weights of all tokens with a part of the columns of V.
  static constexpr int kParts = !kInvariant ? 1 : kTileQ == 64 ? 2 : 4;
  // The slices that are multiplied between two barriers, with invariant numerics: an even ring has
  // two. Wide heads, 64 rows and pages of 8 tokens leave no registers for them.
  static constexpr bool kHasPairs = kInvariant && (stages == 4 || stages == 6) && kTileQ < 64 &&
                                    maximum(kHeadDimQk, kHeadDimV) <= 128 && kPageSize > 8;
  static constexpr int kAtOnce = kHasPairs ? 2 : 1;
  static constexpr int kWarpsKv = tile_size_kv / kSlice;
  static constexpr int kGroupThreads = 32 * kWarpsQ * kParts;  // threads that share a slice
  static constexpr int kThreads = kGroupThreads * kWarpsKv;
  static constexpr int kTilesV = kHeadDimV / 8 / kParts;
  static constexpr int kSliceBytesK = kSlice * kRowBytesK;
  static constexpr int kSliceBytesV = kSlice * kRowBytesV;
  static constexpr int kRingBytes = stages * (kSliceBytesK + kSliceBytesV);  // ring of a group of warps
  static constexpr int kMergeBytes = kInvariant ? 0 : kWarpsKv * kTileQ * kOutputRowBytes;
  static constexpr int kWorkBytes = maximum(kWarpsKv * kRingBytes, kMergeBytes);
  static constexpr int kItemBytes = kRowTiles == 2 ? 64 : 0;  // used by spill_item
  static constexpr int kQScaleBytes = kConvertsKv ? kTileQ * 4 + kItemBytes : 0;
  // The weights of a step, and the largest logits of the warps with the same rows, of each row.
  static constexpr int kStepBytes = kInvariant ? kSlice * 4 + 16 : 0;
  static constexpr int kSharedBytes = kQBytes + kWorkBytes + kQScaleBytes + kAtOnce * kTileQ * kStepBytes;
};
using Product = Shape::Product;
constexpr bool kConvertsKv = Shape::kConvertsKv;
constexpr int kRowTiles = Shape::kRowTiles;
constexpr int kSlice = Shape::kSlice;
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kWidestHead = maximum(head_dim_qk, head_dim_v);
// Keeps Q in registers if it fits. With a head dim of 256, Q and the accumulators do not fit
// together. With a head dim of 64, slices of 32 tokens with a window or several pages exceed the
// registers by a word or two. With invariant numerics 64 rows leave no registers for wider heads.
constexpr bool kQInRegisters =
    kRowTiles == 1 && kWidestHead <= 128 &&
    (Shape::kInvariant ? tile_size_q < 64 || kWidestHead <= 64
                       : kWidestHead > 64 || kSlice == 16 || (!sliding_window && page_size > kSlice));
// If true, the page numbers of a slice and the window need more registers than usual.
constexpr bool kManyValues = page_size == 8 && separate_page_tables && sliding_window;
// The registers that a thread needs to keep its accumulators and Q fragments without spilling.
constexpr int kRegisters = Shape::kAtOnce == 2                  ? 255
                           : Shape::kInvariant                  ? kManyValues || kWidestHead > 64 ? 255 : 168
                           : kWidestHead > 64 || kRowTiles == 2 ? 255
                           : kManyValues                        ? 168
                                                                : 128;
// The CTAs that fit on an SM with these registers, for __launch_bounds__. Without this bound ptxas
// spills a word to fit one more CTA.
constexpr int kBlocksPerSm = maximum(65536 / (Shape::kThreads * kRegisters), 1);

static_assert(!Shape::kInvariant || (!kConvertsKv && Shape::kWarpsKv == 1),
              "invariant numerics has 16-bit KV and one group of warps");
static_assert(attention_decode_threads == Shape::kThreads, "the host's formula of the CTA size differs");
static_assert(attention_decode_shared_bytes == Shape::kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention_decode
