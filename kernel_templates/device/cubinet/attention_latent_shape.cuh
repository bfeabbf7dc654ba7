// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the template `attention_latent` that follow from its parameters.
#include <cubinet/e4m3.cuh>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention {

using namespace parameters;

using Product = ProductOf<dtype_kv>::Type;
constexpr bool kConvertsKv = !is_same<Product, dtype_kv>;

// Tokens of one step.
constexpr int kSlice = tile_size_kv;

// A product of a warpgroup has 64 rows. Those behind the tile's are products of what lies behind Q, which
// nobody reads.
constexpr int kProductRows = 64;

// Four warpgroups: one copies, one has the scores and the softmax, two have half of the output's columns
// each.
constexpr int kWarpgroup = 128;
constexpr int kThreads = 4 * kWarpgroup;
constexpr int kColumns = head_dim_v / 2;
constexpr int kOutputWarps = 8;
constexpr int kRowBytesQ = head_dim_qk * int{sizeof(Product)};
constexpr int kFirstOutputThread = 2 * kWarpgroup;
// Of a thread of each; together they are what a block starts with.
constexpr int kCopyRegisters = kConvertsKv ? 56 : 40;
constexpr int kScoreRegisters = 120;
constexpr int kOutputRegisters = kConvertsKv ? 168 : 176;
constexpr int kRegisters = 128;

// Rows lie in blocks of 64 elements, which are 128 bytes.
constexpr int kBlockElements = 64;
constexpr int kBlockRowBytes = 128;
constexpr int kBlocksQk = head_dim_qk / kBlockElements;
constexpr int kQBlockBytes = tile_size_q * kBlockRowBytes;
constexpr int kQBytes = kBlocksQk * kQBlockBytes;
constexpr int kKvBlockBytes = kSlice * kBlockRowBytes;
constexpr int kStageBytes = kBlocksQk * kKvBlockBytes;
// Slices of what is multiplied. KV of e4m3 comes through a ring of its own, of `stages` places.
constexpr int kPlaces = kConvertsKv ? (tile_size_q == 64 ? 2 : 3) : stages;
constexpr int kRawStageBytes = kConvertsKv ? kSlice * head_dim_qk : 0;
constexpr int kQScalesBytes = kConvertsKv ? kProductRows * 4 : 0;
// The weights of two slices lie side by side in one block.
constexpr int kWeightsBytes = kProductRows * kBlockRowBytes;
// Of each of the two: what a row's output is multiplied by, and its log-sum-exp at the end.
constexpr int kRowFactorsBytes = 2 * kProductRows * 4;

// Where they lie in shared memory.
constexpr int kKvOffset = kQBytes;
constexpr int kWeightsOffset = kKvOffset + kPlaces * kStageBytes;
constexpr int kFactorsOffset = kWeightsOffset + kWeightsBytes;
constexpr int kRawOffset = kFactorsOffset + 2 * kRowFactorsBytes;
constexpr int kQScalesOffset = kRawOffset + stages * kRawStageBytes;
constexpr int kBarriersOffset = kQScalesOffset + kQScalesBytes;
constexpr int kSharedBytes = kBarriersOffset + (2 * kPlaces + 7) * 8;

static_assert(kSlice == 32, "the weights of two slices are 64 columns");
static_assert(attention_latent_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_latent_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention
