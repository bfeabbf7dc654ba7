// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared memory and the barriers of `attention_prefill_wgmma`.
#include <cubinet/attention_prefill_wgmma/schedule.cuh>
#include <cubinet/mbarrier.cuh>

namespace cubinet::attention_prefill_wgmma {

// Tiles have two stages, Q has kQStages, K and V have `stages` each. A stage is full when its bytes
// have arrived, and empty when each of its readers has released it. Each consumer warpgroup has its
// own rows of Q.
struct SharedLayout {
  SharedAddress base;

  __device__ SharedAddress q(int stage) const { return base + stage * kStageBytesQ; }
  __device__ SharedAddress k(int stage) const { return base + kKOffset + stage * kStageBytesK; }
  __device__ SharedAddress v(int stage) const { return base + kVOffset + stage * kStageBytesV; }
  __device__ SharedAddress transposed_v(int stage) const {
    return base + kTransposedOffset + stage * kStageBytesTransposed;
  }
  __device__ SharedAddress folded() const { return base + kFoldedOffset; }
  __device__ SharedAddress tile(unsigned parity) const { return base + kTileOffset + parity * kTileBytes; }
  __device__ SharedAddress tile_full() const { return barrier(0); }
  __device__ SharedAddress tile_empty() const { return barrier(1); }
  __device__ SharedAddress k_full(int stage) const { return barrier(2 + stage); }
  __device__ SharedAddress k_empty(int stage) const { return barrier(2 + stages + stage); }
  __device__ SharedAddress v_full(int stage) const { return barrier(2 + 2 * stages + stage); }
  __device__ SharedAddress v_empty(int stage) const { return barrier(2 + 3 * stages + stage); }
  // The stage holds V with rows that must become zero, or V that must be transposed, before it is
  // full.
  __device__ SharedAddress v_unclean(int stage) const { return barrier(2 + 4 * stages + stage); }
  // V of the stage has been transposed.
  __device__ SharedAddress v_transposed(int stage) const { return barrier(2 + 5 * stages + stage); }
  __device__ SharedAddress q_full(int stage, int consumer) const {
    return barrier(2 + kStageBarriers * stages + stage * kConsumers + consumer);
  }
  __device__ SharedAddress q_empty(int stage, int consumer) const {
    return barrier(2 + kStageBarriers * stages + (kQStages + stage) * kConsumers + consumer);
  }

  __device__ void init() const {
    constexpr int kConsumerWarps = 4 * kConsumers;
    mbarrier_init(tile_full(), 1);
    mbarrier_init(tile_empty(), kConsumerWarps + 3);
#pragma unroll
    for (int i = 0; i < kQStages * kConsumers; ++i) {
      mbarrier_init(q_full(0, i), 1);
      mbarrier_init(q_empty(0, i), kConsumerWarps / kConsumers);
    }
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(k_full(stage), 1);
      mbarrier_init(k_empty(stage), kConsumerWarps);
      mbarrier_init(v_full(stage), kTransposesV ? kTransposers : 1);
      mbarrier_init(v_empty(stage), kConsumerWarps);
      mbarrier_init(v_unclean(stage), 1);
      if constexpr (kTransposesV) mbarrier_init(v_transposed(stage), kTransposers);
    }
  }

 private:
  __device__ SharedAddress barrier(int index) const {
    return base + kBarriersOffset + index * 8;
  }
};

// The parities of the next phases of stages. Step i of a CTA, counted over its tiles, uses stage i
// % stages of K and V.
class Phases {
 public:
  __device__ unsigned parity(int stage) const { return parities_ >> stage & 1; }
  // Must be called once for each use of a stage.
  __device__ void end(int stage) { parities_ ^= 1u << stage; }

 private:
  unsigned parities_ = 0;
};

// The writer of the tiles. All lanes of one warp must call it.
class TileWriter {
 public:
  __device__ explicit TileWriter(const SharedLayout& layout) : layout_(layout) {}

  __device__ void write(const Tile& tile) const {
    if (threadIdx.x % 32 == 0) {
      store_shared_object(layout_.tile(parity_), tile);
      mbarrier_arrive(layout_.tile_full());
    }
  }
  // Blocks until the readers have released the tile that was written last.
  __device__ void wait() {
    mbarrier_wait(layout_.tile_empty(), parity_);
    parity_ ^= 1;
  }

 private:
  const SharedLayout& layout_;
  unsigned parity_ = 0;
};

// A reader of the tiles: one warp. All its lanes must call each function together.
class TileReader {
 public:
  __device__ explicit TileReader(const SharedLayout& layout) : layout_(layout) {}

  // Blocks until the next tile is written. Returns false after the last one.
  __device__ bool next() {
    mbarrier_wait(layout_.tile_full(), parity_);
    parity_ ^= 1;
    return tile().sequence >= 0;
  }
  // Returns the tile. It remains in shared memory until the reader has released the next one.
  __device__ Tile tile() const { return at(parity_ ^ 1); }
  // Returns the tile before it. REQUIRES: the reader has not released the tile.
  __device__ Tile previous() const { return at(parity_); }
  // Must be called once after next(). The tile after this one is found when all readers have called
  // it.
  __device__ void release() const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(layout_.tile_empty());
  }

 private:
  __device__ Tile at(unsigned parity) const {
    Tile tile;
    load_shared_object(layout_.tile(parity), tile);
    return tile;
  }

  const SharedLayout& layout_;
  unsigned parity_ = 0;
};

}  // namespace cubinet::attention_prefill_wgmma
