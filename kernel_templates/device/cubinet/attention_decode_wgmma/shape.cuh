// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the template `attention_decode_wgmma`, computed from its parameters.
#include <cubinet/attention/shape.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention_decode_wgmma {

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
  static constexpr int kSlice = tile_size_kv;  // tokens that are multiplied at a time
  static constexpr int kWarpRows = 16;
  static constexpr int kWarpsQ = 4;
  static constexpr int kWarpsKv = 1;
  static constexpr int kGroupThreads = 32 * kWarpsQ;
  static constexpr int kThreads = kGroupThreads;
  static constexpr int kTilesV = kHeadDimV / 8;
  static constexpr int kSliceBytesK = kSlice * kRowBytesK;
  static constexpr int kSliceBytesV = kSlice * kRowBytesV;
  static constexpr int kRingBytes = stages * (kSliceBytesK + kSliceBytesV);
  static constexpr int kMergeBytes = kTileQ * kOutputRowBytes;
  static constexpr int kItemBytes = kInvariant ? 64 : 0;  // the work item
  static constexpr int kSharedBytes = kQBytes + maximum(kRingBytes, kMergeBytes) + kItemBytes;
};
using Product = Shape::Product;
constexpr int kSlice = Shape::kSlice;
constexpr int kTilesS = kSlice / 8;
constexpr int kStepsQk = head_dim_qk / 16;
// If true, the page numbers of a slice and the window need more registers than usual.
constexpr bool kManyValues =
    Shape::kInvariant && page_size < kSlice && (separate_page_tables || sliding_window);
constexpr int kBlocksPerSm = maximum(head_dim_qk, head_dim_v) <= 64 && !kManyValues ? 3 : 2;

static_assert(!Shape::kConvertsKv, "KV has the type that is multiplied");
static_assert(tile_size_q == Shape::kWarpRows * Shape::kWarpsQ, "a warpgroup multiplies 64 rows");
static_assert(attention_decode_wgmma_threads == Shape::kThreads,
              "the host's formula of the CTA size differs");
static_assert(attention_decode_wgmma_shared_bytes == Shape::kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention_decode_wgmma
