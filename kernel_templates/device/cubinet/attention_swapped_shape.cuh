// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of the template `attention_decode_swapped` that follow from its parameters, and its shared memory.
#include <cubinet/e4m3.cuh>
#include <cubinet/math.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>
#include <cubinet/swizzle.cuh>
#include <cubinet/types.cuh>

namespace cubinet::attention {

using namespace parameters;

// Blocks of a cluster, which take as many tiles of a sequence side by side.
constexpr int kClusterSize = 1;

using Product = ProductOf<dtype_kv>::Type;
constexpr bool kConvertsKv = !is_same<Product, dtype_kv>;

constexpr int kWidest = maximum(head_dim_qk, head_dim_v);
constexpr int kSlice = tile_size_kv;  // tokens that are multiplied at a time
constexpr int kPagesOfSlice = maximum(kSlice / page_size, 1);
constexpr int kPageTables = separate_page_tables ? 2 : 1;
constexpr int kWarps = 4;  // a warpgroup
constexpr int kThreads = 32 * kWarps;
constexpr int kWarpsQ = kWarps;  // which share a slice
constexpr int kWarpsKv = 1;
constexpr int kGroupThreads = kThreads;
constexpr int kElementBytes = sizeof(dtype_kv);
constexpr int kRowBytesQ = head_dim_qk * int{sizeof(Product)};
constexpr int kRowBytesK = head_dim_qk * kElementBytes;
constexpr int kRowBytesV = head_dim_v * kElementBytes;
constexpr int kSliceBytesK = kSlice * kRowBytesK;
constexpr int kSliceBytesV = kSlice * kRowBytesV;
constexpr int kSliceBytes = kSliceBytesK + kSliceBytesV;
constexpr int kQBytes = tile_size_q * kRowBytesQ;
constexpr int kWeightBytes = tile_size_q * kSlice * int{sizeof(Product)};
// 8 floats of padding put the rows that one store instruction touches into different banks.
constexpr int kMergeStride = head_dim_v + 8;
constexpr int kMergeBytes = tile_size_q * (kMergeStride + 2) * 4;
constexpr int kWorkBytes = maximum(2 * kWeightBytes + stages * kSliceBytes, kMergeBytes);
constexpr int kViewBytes = tile_size_q * 16;
constexpr int kExchangeBytes = kWarps * tile_size_q * 4;
constexpr int kOffsetBytes = tile_size_q * 4;
constexpr int kKeptBytes = 80;
constexpr int kSlicesAtOnce = 32;  // whose pages are looked up
constexpr int kSlicePagesBytes = 4 * kPagesOfSlice * kPageTables;
constexpr int kPagesBytes = 2 * kSlicesAtOnce * kSlicePagesBytes;
constexpr int kSharedBytes = kQBytes + kWorkBytes + kViewBytes + kExchangeBytes + kOffsetBytes + kKeptBytes + kPagesBytes;
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kStepsPv = kSlice / 16;
constexpr int kTilesN = tile_size_q / 8;  // of eight rows of Q, columns of the products
constexpr int kTilesM = head_dim_v / 64;  // of 64 columns of V, rows of O^T
constexpr int kTilesV = head_dim_v / 8;
// As many blocks share a multiprocessor as have registers for their accumulators, one less with more to look up or mask.
__host__ __device__ constexpr int most_blocks() {
  if (kWidest > 128) return 2;
  if (kWidest > 64) return tile_size_q <= 48 ? 3 : 2;
  return tile_size_q <= 32 ? 4 : tile_size_q <= 64 ? 3 : 2;
}
constexpr bool kManyValues = kPagesOfSlice * kPageTables > 1 || soft_cap || mask == mask_values::custom;
constexpr int kBlocksPerSm = most_blocks() - (kManyValues ? 1 : 0);
// Beside the most accumulators there are no registers for what weights are relative to.
constexpr bool kOffsetsInRegisters = kWidest <= 64 || tile_size_q <= 64;

static_assert(tile_size_q % 16 == 0, "weights are stored by 16 rows");
static_assert(attention_decode_swapped_threads == kThreads, "the host's formula of the block size differs");
static_assert(attention_decode_swapped_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

// What lies where. `merge` has the memory of the weights and the slices, when nothing is under way.
struct SharedLayout {
  SharedAddress first;

  __device__ SharedAddress q() const { return first; }
  __device__ SharedAddress weights(int place) const { return first + kQBytes + place * kWeightBytes; }
  __device__ SharedAddress slice(int slot) const { return first + kQBytes + 2 * kWeightBytes + slot * kSliceBytes; }
  __device__ SharedAddress merge() const { return first + kQBytes; }
  __device__ SharedAddress view(int row) const { return first + kQBytes + kWorkBytes + row * 16; }
  // A number of each warp for each row.
  __device__ SharedAddress exchange(int warp, int row) const {
    return first + kQBytes + kWorkBytes + kViewBytes + (warp * tile_size_q + row) * 4;
  }
  // What a row's weights are relative to.
  __device__ SharedAddress offset(int row) const { return exchange(kWarps, row); }
  __device__ SharedAddress flag() const { return offset(tile_size_q); }
  __device__ SharedAddress kept() const { return flag() + 4; }
  // Where the tokens of slices lie, of as many as are looked up at once and those before them.
  __device__ SharedAddress pages(int slice) const {
    return flag() + kKeptBytes + slice % (2 * kSlicesAtOnce) * kSlicePagesBytes;
  }
};

// A value that all lanes have, in a register of the warp.
__device__ inline int of_warp(int value) { return __reduce_max_sync(0xffffffffu, value); }
__device__ inline float of_warp(float value) { return __int_as_float(of_warp(__float_as_int(value))); }

// Where a thread stands, asked for anew: what follows from threadIdx the compiler works out before all loops, and the
// loop over the KV has no registers for it.
struct ThreadPlace {
  int thread;
  int warp;
  int lane;

  __device__ ThreadPlace() {
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    warp = thread / 32;
    lane = thread % 32;
  }
};

}  // namespace cubinet::attention
