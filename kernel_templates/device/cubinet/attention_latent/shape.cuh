// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the template `attention_latent`, computed from its parameters.
#include <cubinet/attention/shape.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention_latent {

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
  static constexpr int kClusterSize = cluster_size;
  static constexpr bool kCausal = mask == mask_values::causal;
  static constexpr bool kCustomMask = mask == mask_values::custom;
  static constexpr bool kSlidingWindow = sliding_window;
  static constexpr bool kSoftCap = soft_cap;
  static constexpr bool kSeparatePageTables = separate_page_tables;
};

constexpr int kWarpgroup = 128;

struct Shape : BasicShape<Declared> {
  static constexpr int kSlice = tile_size_kv;
  // Three warpgroups: one producer and two consumers. Each consumer computes the scores of
  // alternate slices and half of the output's columns.
  static constexpr int kThreads = 3 * kWarpgroup;
};
using Product = Shape::Product;
constexpr bool kConvertsKv = Shape::kConvertsKv;
// If true, Q and KV are multiplied as e4m3 for the scores. V is converted for its product
// nevertheless.
constexpr bool kMultipliesE4m3 = is_same<dtype_q, e4m3>;
// If true, Q becomes fp16, times a scale for each row.
constexpr bool kConvertsQ = kConvertsKv && !kMultipliesE4m3;
constexpr int kSlice = Shape::kSlice;
constexpr int kClusterSize = cluster_size;
constexpr int kOwnTokens = kSlice / kClusterSize;  // tokens of a slice that a CTA copies
// In a cluster one warp of the producer copies KV as boxes, and the others copy Q.
constexpr bool kCopiesBoxes = kClusterSize > 1 && !kConvertsKv;
constexpr int kQCopyThreads = kCopiesBoxes ? kWarpgroup - 32 : kWarpgroup;
constexpr int kColumns = head_dim_v / 2;
// A product of a warpgroup has 64 rows. Rows after those of the tile multiply the memory after Q;
// nothing reads their results.
constexpr int kProductRows = 64;

// The registers of a thread of each warpgroup. The producer of converted Q and KV needs more,
// because it loads KV to registers.
constexpr int kProducerRegisters = kConvertsQ ? 88 : kClusterSize > 1 || kMultipliesE4m3 ? 56 : 40;
constexpr int kConsumerRegisters = (3 * 168 - kProducerRegisters) / 2;
// A CTA has no more registers than it starts with, so they must be released before others are
// taken.
static_assert(kProducerRegisters + 2 * kConsumerRegisters <= 3 * 168,
              "as many as three warpgroups start with");

// Rows are stored in blocks of 64 elements, which are 128 bytes.
constexpr int kBlockElements = 64;
constexpr int kBlockRowBytes = 128;
constexpr int kBlocksQk = head_dim_qk / kBlockElements;
constexpr int kBlocksOfHalf = kColumns / kBlockElements;
constexpr int kQBlockBytes = tile_size_q * kBlockRowBytes;
constexpr int kKvBlockBytes = kSlice * kBlockRowBytes;
constexpr int kSlotBytes = kBlocksQk * kKvBlockBytes;

// The order in which the blocks of a slice are copied and multiplied. The block that is not part of
// V is first, because its slot becomes free first. The blocks of a group are announced together.
constexpr int kBlocksOfGroup = 3;
constexpr int kGroups = kBlocksQk / kBlocksOfGroup;
static_assert(kBlocksQk % kBlocksOfGroup == 0, "groups have as many blocks each");
__host__ __device__ constexpr int block_at(int position) {
  return position == 0 ? kBlocksQk - 1 : position - 1;
}

// Rows of e4m3 of Q and K are stored in blocks of 128 elements, which are 128 bytes. The elements
// after the last whole block are half of one, so two operands share it: Q and the first slot, and
// two slots.
namespace e4m3_rows {
constexpr int kBlocks = head_dim_qk / kBlockRowBytes;
constexpr int kRestElements = head_dim_qk % kBlockRowBytes;
constexpr int kBlockBytes = kSlice * kBlockRowBytes;
constexpr int kOperandBytes = kBlocks * kBlockBytes;
constexpr int kSlots = 3;
constexpr int kRestsOffset = (1 + kSlots) * kOperandBytes;
static_assert(kRestElements == 64 && kProductRows == kSlice, "the rest of an operand is half a block");

// V of a slice as fp16 consists of four parts: tokens of the first or second half, and columns of
// the first or second consumer.
constexpr int kPartTokens = kSlice / 2;
constexpr int kPartBlockBytes = kPartTokens * kBlockRowBytes;
constexpr int kPartBytes = kBlocksOfHalf * kPartBlockBytes;
constexpr int kPartsOffset = kRestsOffset + (1 + kSlots) / 2 * kBlockBytes;
constexpr int kBytes = kPartsOffset + 4 * kPartBytes;
constexpr int kBarriers = 2 * kSlots + 2 * 4;
}  // namespace e4m3_rows

// The data that the two consumers exchange, thread by thread: the weights of a slice and the maxima
// of two rows.
constexpr int kWeightsStep = kWarpgroup * 16;
constexpr int kWeightsBytes = kSlice / 16 * kWeightsStep;
constexpr int kMaximaBytes = kWarpgroup * 8;
constexpr int kQScalesBytes = kConvertsQ ? kProductRows * 4 : 0;

// Offsets in shared memory, in bytes.
constexpr int kKvOffset = Shape::kQBytes;
constexpr int kWeightsOffset = kMultipliesE4m3 ? e4m3_rows::kBytes : kKvOffset + 2 * kSlotBytes;
constexpr int kMaximaOffset = kWeightsOffset + kWeightsBytes;
constexpr int kQScalesOffset = kMaximaOffset + kMaximaBytes;
constexpr int kBarriersOffset = kQScalesOffset + kQScalesBytes;
constexpr int kKvBarriers = kMultipliesE4m3 ? e4m3_rows::kBarriers : 2 * kGroups + 6;
constexpr int kSharedBytes = kBarriersOffset + (kKvBarriers + 3) * 8;

static_assert(kSlice == 64, "the scores of a slice are one product of a warpgroup");
static_assert(attention_latent_threads == Shape::kThreads, "the host's formula of the CTA size differs");
static_assert(attention_latent_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention_latent
