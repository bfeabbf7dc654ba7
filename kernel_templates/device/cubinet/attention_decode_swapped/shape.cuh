// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of the template `attention_decode_swapped`, computed from its parameters, and the
// layout of its shared memory.
#include <cubinet/attention/shape.cuh>
#include <cubinet/memory.cuh>
#include <cubinet/parameters.cuh>

namespace cubinet::attention_decode_swapped {

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
  static constexpr int kSlice = tile_size_kv;  // tokens of a product
  static constexpr int kWarps = 4;             // a warpgroup
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kGroupThreads = kThreads;
  static constexpr int kWarpsKv = 1;
  static constexpr int kTilesV = kHeadDimV / 8;
  static constexpr int kSliceBytesK = kSlice * kRowBytesK;
  static constexpr int kSliceBytesV = kSlice * kRowBytesV;
  static constexpr int kSliceBytes = kSliceBytesK + kSliceBytesV;
  // The page numbers of one slice.
  static constexpr int kSlicePages = maximum(kSlice / kPageSize, 1) * (kSeparatePageTables ? 2 : 1);
};
using Product = Shape::Product;
constexpr int kSlice = Shape::kSlice;
constexpr int kWarps = Shape::kWarps;
constexpr int kStepsQk = head_dim_qk / 16;
constexpr int kStepsPv = kSlice / 16;
constexpr int kTilesN = tile_size_q / 8;  // tiles of 8 rows of Q, which are columns of the products
constexpr int kTilesM = head_dim_v / 64;  // tiles of 64 columns of V, which are rows of O^T

// Bytes of shared memory.
constexpr int kWeightBytes = tile_size_q * kSlice * int{sizeof(Product)};
constexpr int kMergeBytes = tile_size_q * Shape::kOutputRowBytes;
constexpr int kWorkBytes = maximum(2 * kWeightBytes + stages * Shape::kSliceBytes, kMergeBytes);
constexpr int kMaskBytes = tile_size_q * 16;
constexpr int kExchangeBytes = kWarps * tile_size_q * 4;
constexpr int kOffsetBytes = tile_size_q * 4;
constexpr int kSpillBytes = 80;    // spilled work and the flag
constexpr int kSlicesAtOnce = 32;  // slices whose pages are looked up together
constexpr int kSlicePagesBytes = 4 * Shape::kSlicePages;
constexpr int kPagesBytes = 2 * kSlicesAtOnce * kSlicePagesBytes;
constexpr int kSharedBytes =
    Shape::kQBytes + kWorkBytes + kMaskBytes + kExchangeBytes + kOffsetBytes + kSpillBytes + kPagesBytes;

// The CTAs per SM: as many as have registers for their accumulators, and one less with more
// look-ups or masks.
constexpr int kWidestHead = maximum(head_dim_qk, head_dim_v);
__host__ __device__ constexpr int most_blocks() {
  if (kWidestHead > 128) return 2;
  if (kWidestHead > 64) return tile_size_q <= 48 ? 3 : 2;
  return tile_size_q <= 32 ? 4 : tile_size_q <= 64 ? 3 : 2;
}
constexpr bool kManyValues = Shape::kSlicePages > 1 || soft_cap || Shape::kCustomMask;
constexpr int kBlocksPerSm = most_blocks() - (kManyValues ? 1 : 0);
// If false, the accumulators leave no registers for the softmax offsets, which are stored in shared
// memory.
constexpr bool kOffsetsInRegisters = kWidestHead <= 64 || tile_size_q <= 64;

static_assert(tile_size_q % 16 == 0, "weights are stored by 16 rows");
static_assert(attention_decode_swapped_threads == Shape::kThreads,
              "the host's formula of the CTA size differs");
static_assert(attention_decode_swapped_shared_bytes == kSharedBytes,
              "the host's formula of the shared memory differs");

// The addresses in shared memory. `merge` reuses the memory of the weights and the slices when no
// copy or product is in flight.
struct SharedLayout {
  SharedAddress first;

  __device__ SharedAddress q() const { return first; }
  __device__ SharedAddress weights(int buffer) const {
    return first + Shape::kQBytes + buffer * kWeightBytes;
  }
  __device__ SharedAddress slice(int slot) const {
    return first + Shape::kQBytes + 2 * kWeightBytes + slot * Shape::kSliceBytes;
  }
  __device__ SharedAddress merge() const { return first + Shape::kQBytes; }
  __device__ SharedAddress mask(int row) const { return first + Shape::kQBytes + kWorkBytes + row * 16; }
  // Returns the address of a number that each warp stores for each row.
  __device__ SharedAddress exchange(int warp, int row) const {
    return first + Shape::kQBytes + kWorkBytes + kMaskBytes + (warp * tile_size_q + row) * 4;
  }
  // Returns the address of the softmax offset of a row.
  __device__ SharedAddress offset(int row) const { return exchange(kWarps, row); }
  __device__ SharedAddress flag() const { return offset(tile_size_q); }
  __device__ SharedAddress spill() const { return flag() + 4; }
  // Returns the address of the pages of a slice. The memory holds two batches of look-ups: the
  // current one and the one before.
  __device__ SharedAddress pages(int slice) const {
    return flag() + kSpillBytes + slice % (2 * kSlicesAtOnce) * kSlicePagesBytes;
  }
};

// Returns a value, which all lanes must share, in a uniform register.
__device__ inline int warp_uniform(int value) {
  return __reduce_max_sync(kAllLanes, value);
}
__device__ inline float warp_uniform(float value) {
  return __int_as_float(warp_uniform(__float_as_int(value)));
}

// The indices of a thread, read again at each construction. The compiler would otherwise compute
// everything that depends on threadIdx before all loops, and the loop over KV has no registers for
// it.
struct ThreadIndex {
  int thread;
  int warp;
  int lane;

  __device__ ThreadIndex() {
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    warp = thread / 32;
    lane = thread % 32;
  }
};

}  // namespace cubinet::attention_decode_swapped
