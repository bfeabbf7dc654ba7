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

// Blocks of a cluster: each has a tile of the same sequence, and brings a part of each slice for all of them.
constexpr int kClusterSize = cluster_size;

// Tokens of one slice, and those that a block brings.
constexpr int kSlice = tile_size_kv;
constexpr int kOwnTokens = kSlice / kClusterSize;

// A product of a warpgroup has 64 rows. Those behind the tile's are products of what lies behind Q, which
// nobody reads.
constexpr int kProductRows = 64;

// Three warpgroups: one copies, two have the scores of every other slice and half of the output's columns
// each.
constexpr int kWarpgroup = 128;
constexpr int kThreads = 3 * kWarpgroup;
constexpr int kColumns = head_dim_v / 2;
constexpr int kRowBytesQ = head_dim_qk * int{sizeof(Product)};
// Of a thread of each. What is converted comes through registers.
constexpr int kCopyRegisters = kConvertsKv ? 88 : kClusterSize > 1 ? 56 : 40;
constexpr int kProductRegisters = (3 * 168 - kCopyRegisters) / 2;
// What is taken has to be given: a block has no more than it starts with.
static_assert(kCopyRegisters + 2 * kProductRegisters <= 3 * 168, "as many as three warpgroups start with");

// Rows lie in blocks of 64 elements, which are 128 bytes.
constexpr int kBlockElements = 64;
constexpr int kBlockRowBytes = 128;
constexpr int kBlocksQk = head_dim_qk / kBlockElements;
constexpr int kBlocksOfHalf = kColumns / kBlockElements;
constexpr int kQBlockBytes = tile_size_q * kBlockRowBytes;
constexpr int kQBytes = kBlocksQk * kQBlockBytes;
constexpr int kKvBlockBytes = kSlice * kBlockRowBytes;
constexpr int kSlotBytes = kBlocksQk * kKvBlockBytes;

// The blocks of a slice in the order in which they come and are multiplied: what is not V first, as its place
// is the first that is free. Those of a group are announced together.
constexpr int kBlocksOfGroup = 3;
constexpr int kGroups = kBlocksQk / kBlocksOfGroup;
static_assert(kBlocksQk % kBlocksOfGroup == 0, "groups have as many blocks each");
__host__ __device__ constexpr int block_at(int position) {
  return position == 0 ? kBlocksQk - 1 : position - 1;
}

// What the two warpgroups hand each other, thread by thread: the weights of a slice and two rows' maxima.
constexpr int kWeightsStep = kWarpgroup * 16;
constexpr int kWeightsBytes = kSlice / 16 * kWeightsStep;
constexpr int kMaximaBytes = kWarpgroup * 8;
constexpr int kQScalesBytes = kConvertsKv ? kProductRows * 4 : 0;

// Where they lie in shared memory.
constexpr int kKvOffset = kQBytes;
constexpr int kWeightsOffset = kKvOffset + 2 * kSlotBytes;
constexpr int kMaximaOffset = kWeightsOffset + kWeightsBytes;
constexpr int kQScalesOffset = kMaximaOffset + kMaximaBytes;
constexpr int kBarriersOffset = kQScalesOffset + kQScalesBytes;
constexpr int kSharedBytes = kBarriersOffset + (2 * kGroups + 9) * 8;

static_assert(kSlice == 64, "the scores of a slice are one product of a warpgroup");
static_assert(attention_latent_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_latent_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

}  // namespace cubinet::attention
