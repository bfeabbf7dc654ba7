// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the template `attention_prefill_wgmma`, computed from its parameters.
#include <cubinet/attention/invariant_sizes.cuh>
#include <cubinet/kernel_templates/attention_prefill_parameters.h>
#include <cubinet/math.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/types.cuh>

namespace cubinet::attention_prefill_wgmma {

using namespace parameters;
using kernel_templates::AttentionPrefillMapParameters;
using kernel_templates::AttentionPrefillParameters;

constexpr bool kPaged = kv_layout == kv_layout_values::paged;
constexpr bool kCausal = mask == mask_values::causal;
constexpr bool kInvariant = numerics == numerics_values::invariant;
constexpr bool kHasHeadScales = is_same<dtype, e4m3>;  // K and V may have scales of KV heads

// One producer warpgroup, and consumer warpgroups of 64 rows each.
constexpr int kWarpgroup = 128;
constexpr int kWarpgroupRows = 64;
constexpr int kConsumers = tile_size_q / kWarpgroupRows;
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
// The registers of a thread. A CTA has no more registers than it starts with.
constexpr int kProducerRegisters = kConsumers == 3 ? 32 : 40;
constexpr int kConsumerRegisters = kConsumers == 3 ? 160 : 232;

// The CTAs of a cluster have adjacent tiles of the same heads. Each copies a part of every step of
// K and V to both.
constexpr int kClusterSize = cluster_size;

constexpr int kStep = tile_size_kv;  // KV tokens of one step
constexpr int kElementBytes = int{sizeof(dtype)};
constexpr int kProductDepth = 32 / kElementBytes;  // columns of K or tokens of V of one product
// Tokens that share a maximum. With invariant numerics a step has two parts of 64 tokens.
constexpr int kPart = kInvariant ? attention::kInvariantStep : kStep;
constexpr int kParts = kStep / kPart;
constexpr int kStepsOfSegment = kInvariant ? attention::kInvariantSegment / kStep : 1;

// Rows are stored in blocks of 128 bytes, the last of which may be filled with zeros. Without
// pages, the rows of a block are adjacent. With pages, groups of 8 rows of all blocks are, so one
// box holds all columns of the rows of a page. Rows of whole blocks and a part of one have a box
// for each block, so the rows of a block are adjacent with pages, too.
constexpr int kBlockRowBytes = 128;
constexpr int kBlockElements = kBlockRowBytes / kElementBytes;
constexpr int kBlocksQk = divide_up(head_dim_qk, kBlockElements);
constexpr int kBlocksV = divide_up(head_dim_v, kBlockElements);
constexpr bool kHasPaddedBlocks = kBlocksQk > 1 &&
                                  (head_dim_qk % kBlockElements != 0 || head_dim_v % kBlockElements != 0);
constexpr bool kGroupsRows = kPaged && !kHasPaddedBlocks;
constexpr int kQBlockBytes = tile_size_q * kBlockRowBytes;
constexpr int kGroupRows = 8;
constexpr int kBlockGroupBytes = kGroupRows * kBlockRowBytes;
constexpr int kKvBlockBytes = kGroupsRows ? kBlockGroupBytes : kStep * kBlockRowBytes;
constexpr int kGroupBytesK = kGroupsRows ? kBlocksQk * kBlockGroupBytes : kBlockGroupBytes;
constexpr int kGroupBytesV = kGroupsRows ? kBlocksV * kBlockGroupBytes : kBlockGroupBytes;
constexpr int kStageBytesQ = kBlocksQk * kQBlockBytes;
// Two stages of Q if they fit beside K and V.
constexpr int kQStages = (divide_up(head_dim_qk, 64) + divide_up(head_dim_v, 64)) * kStep <= 512 ? 2 : 1;
constexpr int kStageBytesK = kBlocksQk * kStep * kBlockRowBytes;
constexpr int kStageBytesV = kBlocksV * kStep * kBlockRowBytes;

// The tensor cores read 8-bit operands along the summed dimension alone, so V of e4m3 is
// transposed: a row of it is a column of V, with the tokens of a step in blocks of 128.
constexpr bool kTransposesV = is_same<dtype, e4m3>;
constexpr int kTransposers = 2;  // warps that do so
constexpr int kTransposedBlockBytes = head_dim_v * kBlockRowBytes;
constexpr int kStageBytesTransposed = kTransposesV ? divide_up(kStep, 128) * kTransposedBlockBytes : 0;

// Returns the columns of the output whose folded copy is in shared memory, because a thread has no
// registers for it. The copy has the steps of e4m3 or the segments of invariant numerics that have
// been folded. Three consumers share the registers.
__host__ __device__ constexpr int folded_columns() {
  if (kConsumers == 3) return kInvariant || fold_steps > 0 ? head_dim_v : 0;
  if (!kInvariant || head_dim_v < 128) return 0;
  return head_dim_qk > 128 ? 32 : 64;
}
constexpr int kFoldedColumns = folded_columns();
constexpr int kFoldedBytes = tile_size_q * kFoldedColumns * 4;

// Offsets in shared memory, in bytes.
constexpr int kKOffset = kQStages * kStageBytesQ;
constexpr int kVOffset = kKOffset + stages * kStageBytesK;
constexpr int kTransposedOffset = kVOffset + stages * kStageBytesV;
constexpr int kFoldedOffset = kTransposedOffset + stages * kStageBytesTransposed;
constexpr int kTileOffset = kFoldedOffset + kFoldedBytes;
constexpr int kTileBytes = 32;
constexpr int kTileSlots = 4;
constexpr int kBarriersOffset = kTileOffset + kTileSlots * kTileBytes;
constexpr int kTileBarriers = 2 * kTileSlots + 4;     // with the claims
constexpr int kStageBarriers = kTransposesV ? 6 : 5;  // of a stage of K and V
constexpr int kSharedBytes =
    kBarriersOffset + (kTileBarriers + kStageBarriers * stages + 2 * kQStages * kConsumers) * 8;

static_assert(stages == 2, "the consumers' loop has a step for each stage");
static_assert(kPart % kProductDepth == 0, "a part consists of whole products");
static_assert(kParts == (kInvariant ? 2 : 1) && kStep == kParts * kPart, "the consumers' loop has two parts");
static_assert(!kTransposesV || kParts == 1, "parts of transposed V are not whole blocks of tokens");
static_assert(!kInvariant || attention::kInvariantSegment % kStep == 0, "a segment consists of whole steps");
static_assert(attention_prefill_wgmma_threads == kThreads, "the host's formula of the CTA size differs");
static_assert(attention_prefill_wgmma_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention_prefill_wgmma
