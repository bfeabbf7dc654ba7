// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the template `attention_latent_narrow` that follow from its parameters.
#include <cubinet/e4m3.cuh>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention {

using namespace parameters;

// Blocks of a cluster, which take as many tiles of a sequence side by side.
constexpr int kClusterSize = 1;

// What P V is multiplied as.
using Product = ProductOf<dtype_kv>::Type;
constexpr bool kConvertsKv = !is_same<Product, dtype_kv>;

// Tokens of one step: the rows of a product of a warpgroup.
constexpr int kSlice = tile_size_kv;

// Five warpgroups: one copies, one has the scores, one the softmax, two the output.
constexpr int kWarpgroup = 128;
constexpr int kThreads = 5 * kWarpgroup;
constexpr int kFirstOutputThread = 3 * kWarpgroup;
constexpr int kScoreWarps = 4;
constexpr int kSoftmaxWarps = 4;
constexpr int kOutputWarps = 8;
constexpr int kWarpColumns = head_dim_v / kOutputWarps;
constexpr int kRegisters = 96;

// Rows lie in blocks of 128 bytes; of e4m3 the last has 64.
constexpr int kElementBytes = sizeof(dtype_kv);
constexpr int kRowBytes = head_dim_qk * kElementBytes;
constexpr int kBlockRowBytes = 128;
constexpr int kBlocks = kRowBytes / kBlockRowBytes;
constexpr int kTailRowBytes = kRowBytes % kBlockRowBytes;
constexpr int kBlockBytes = kSlice * kBlockRowBytes;
constexpr int kStepBytes = kSlice * kRowBytes;
// A step comes in parts, each of which has a place of the ring: of 16 bits thirds, so that more is under way.
constexpr int kParts = kElementBytes == 1 ? 1 : 3;
constexpr int kBlocksOfPart = kBlocks / kParts;
constexpr int kPartBytes = kStepBytes / kParts;
// Q is what is multiplied.
constexpr int kRowBytesQ = head_dim_qk * int{sizeof(Product)};
constexpr int kQBlockBytes = tile_size_q * kBlockRowBytes;
constexpr int kQBytes = tile_size_q * kRowBytesQ;
// Of a step: scores of a row as floats, weights of a row, what the output is multiplied by. Of each one is written while
// the other is read. The padding puts what the lanes of a product hold into different banks.
constexpr int kTilesN = tile_size_q / 8;
constexpr int kBuffers = 2;
constexpr int kScoresRowBytes = (kSlice + 4) * 4;
constexpr int kScoresBytes = tile_size_q * kScoresRowBytes;
constexpr int kWeightsBytes = tile_size_q * kBlockRowBytes;
constexpr int kFactorsBytes = 2 * tile_size_q * 4;  // and log-sum-exps
// What is said of a piece, and of how many at a time.
constexpr int kPieceBytes = 32;
constexpr int kPieces = 2;
constexpr int kBarriers = 2 * (stages + 2 * kBuffers + kPieces);

// Where they lie in shared memory.
constexpr int kQOffset = stages * kPartBytes;
constexpr int kWeightsOffset = kQOffset + kQBytes;
constexpr int kScoresOffset = kWeightsOffset + kBuffers * kWeightsBytes;
constexpr int kFactorsOffset = kScoresOffset + kBuffers * kScoresBytes;
constexpr int kQScalesOffset = kFactorsOffset + kBuffers * kFactorsBytes;
constexpr int kPiecesOffset = kQScalesOffset + tile_size_q * 4;
constexpr int kBarriersOffset = kPiecesOffset + kPieces * kPieceBytes;
constexpr int kSharedBytes = kBarriersOffset + (kBarriers + 1) * 8;

static_assert(kSlice == 64, "a product of a warpgroup has 64 rows");
static_assert(kSoftmaxWarps * 32 == 8 * tile_size_q, "eight lanes have the softmax of a row");
static_assert(attention_latent_narrow_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_latent_narrow_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention
