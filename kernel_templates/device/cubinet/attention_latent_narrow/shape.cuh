// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the template `attention_latent_narrow`, computed from its parameters.
#include <cubinet/attention/shape.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention_latent_narrow {

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
  static constexpr int kSlice = tile_size_kv;  // rows of a warpgroup's product
};
using Product = Shape::Product;  // type of the operands of P V
constexpr bool kConvertsKv = Shape::kConvertsKv;
constexpr int kSlice = Shape::kSlice;

// Five warpgroups: one producer, one for the scores, one for the softmax, and two for the output.
constexpr int kWarpgroup = 128;
constexpr int kThreads = 5 * kWarpgroup;
constexpr int kFirstOutputThread = 3 * kWarpgroup;
constexpr int kScoreWarps = 4;
constexpr int kSoftmaxWarps = 4;
constexpr int kOutputWarps = 8;
constexpr int kWarpColumns = head_dim_v / kOutputWarps;

// Rows are stored in blocks of 128 bytes. The last block of a row of e4m3 has 64 bytes.
constexpr int kElementBytes = Shape::kElementBytes;
constexpr int kRowBytes = Shape::kRowBytesK;
constexpr int kBlockRowBytes = 128;
constexpr int kBlocks = kRowBytes / kBlockRowBytes;
constexpr int kTailRowBytes = kRowBytes % kBlockRowBytes;
constexpr int kBlockBytes = kSlice * kBlockRowBytes;
constexpr int kStepBytes = kSlice * kRowBytes;
// A step is copied in parts, each of which has a slot of the ring. A step of 16-bit elements has
// three parts: the ring then holds more bytes than with whole steps.
constexpr int kParts = kElementBytes == 1 ? 1 : 3;
constexpr int kBlocksOfPart = kBlocks / kParts;
constexpr int kPartBytes = kStepBytes / kParts;
constexpr int kQBlockBytes = tile_size_q * kBlockRowBytes;
// Two buffers each for the scores of a step (floats), its weights, and the corrections of the
// output: one buffer is written while the other is read. The padding puts the scores that the lanes
// of a product hold into different banks.
constexpr int kTilesN = tile_size_q / 8;
constexpr int kBuffers = 2;
constexpr int kScoresRowBytes = (kSlice + 4) * 4;
constexpr int kScoresBytes = tile_size_q * kScoresRowBytes;
constexpr int kWeightsBytes = tile_size_q * kBlockRowBytes;
constexpr int kFactorsBytes = 2 * tile_size_q * 4;  // factors and LSEs
// The queue of work items: bytes of an item, and slots.
constexpr int kItemBytes = 32;
constexpr int kItems = 2;
constexpr int kBarriers = 2 * (stages + 2 * kBuffers + kItems);

// Offsets in shared memory, in bytes.
constexpr int kQOffset = stages * kPartBytes;
constexpr int kWeightsOffset = kQOffset + Shape::kQBytes;
constexpr int kScoresOffset = kWeightsOffset + kBuffers * kWeightsBytes;
constexpr int kFactorsOffset = kScoresOffset + kBuffers * kScoresBytes;
constexpr int kQScalesOffset = kFactorsOffset + kBuffers * kFactorsBytes;
constexpr int kItemsOffset = kQScalesOffset + tile_size_q * 4;
constexpr int kBarriersOffset = kItemsOffset + kItems * kItemBytes;
constexpr int kSharedBytes = kBarriersOffset + (kBarriers + 1) * 8;

static_assert(kSlice == 64, "a product of a warpgroup has 64 rows");
static_assert(kSoftmaxWarps * 32 == 8 * tile_size_q, "eight lanes have the softmax of a row");
static_assert(attention_latent_narrow_threads == kThreads, "the host's formula of the CTA size differs");
static_assert(attention_latent_narrow_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention_latent_narrow
