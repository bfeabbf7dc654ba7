// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared memory and the barriers of `attention_prefill_wgmma`.
#include <cubinet/attention_prefill_wgmma/shape.cuh>
#include <cubinet/cluster.cuh>
#include <cubinet/mbarrier.cuh>

namespace cubinet::attention_prefill_wgmma {

// Tiles have kTileSlots slots (tile_ring.cuh), Q has kQStages stages, K and V have `stages` each. A
// stage is full when its bytes have arrived, and empty when each of its readers has released it.
// Each consumer warpgroup has its own rows of Q. In a cluster, the readers in both CTAs release K,
// and V as it was copied.
struct SharedLayout {
  SharedAddress base;

  __device__ SharedAddress q(int stage) const { return base + stage * kStageBytesQ; }
  __device__ SharedAddress k(int stage) const { return base + kKOffset + stage * kStageBytesK; }
  __device__ SharedAddress v(int stage) const { return base + kVOffset + stage * kStageBytesV; }
  __device__ SharedAddress transposed_v(int stage) const {
    return base + kTransposedOffset + stage * kStageBytesTransposed;
  }
  __device__ SharedAddress folded() const { return base + kFoldedOffset; }
  __device__ SharedAddress tile(int slot) const { return base + kTileOffset + slot * kTileBytes; }
  __device__ SharedAddress tile_full(int slot) const { return barrier(slot); }
  __device__ SharedAddress tile_empty(int slot) const { return barrier(kTileSlots + slot); }
  __device__ SharedAddress tile_wanted() const { return barrier(2 * kTileSlots); }
  // The index of a tile that the first CTA of a cluster has claimed for the other one, and its
  // barriers: the first is the other CTA's, the second the first CTA's.
  __device__ SharedAddress claim() const { return barrier(2 * kTileSlots + 1); }
  __device__ SharedAddress claim_full() const { return barrier(2 * kTileSlots + 2); }
  __device__ SharedAddress claim_empty() const { return barrier(2 * kTileSlots + 3); }
  __device__ SharedAddress k_full(int stage) const { return barrier(kTileBarriers + stage); }
  __device__ SharedAddress k_empty(int stage) const { return barrier(kTileBarriers + stages + stage); }
  __device__ SharedAddress v_full(int stage) const { return barrier(kTileBarriers + 2 * stages + stage); }
  __device__ SharedAddress v_empty(int stage) const { return barrier(kTileBarriers + 3 * stages + stage); }
  // The stage holds V with rows that must become zero, or V that must be transposed, before it is
  // full.
  __device__ SharedAddress v_unclean(int stage) const { return barrier(kTileBarriers + 4 * stages + stage); }
  // V of the stage has been transposed.
  __device__ SharedAddress v_transposed(int stage) const {
    return barrier(kTileBarriers + 5 * stages + stage);
  }
  __device__ SharedAddress q_full(int stage, int consumer) const {
    return barrier(kTileBarriers + kStageBarriers * stages + stage * kConsumers + consumer);
  }
  __device__ SharedAddress q_empty(int stage, int consumer) const {
    return barrier(kTileBarriers + kStageBarriers * stages + (kQStages + stage) * kConsumers + consumer);
  }

  __device__ void init() const {
    constexpr int kConsumerWarps = 4 * kConsumers;
#pragma unroll
    for (int slot = 0; slot < kTileSlots; ++slot) {
      mbarrier_init(tile_full(slot), 1);
      mbarrier_init(tile_empty(slot), kConsumerWarps + 3);
    }
    mbarrier_init(tile_wanted(), 1);
    mbarrier_init(claim_full(), 1);
    mbarrier_init(claim_empty(), 1);
#pragma unroll
    for (int i = 0; i < kQStages * kConsumers; ++i) {
      mbarrier_init(q_full(0, i), 1);
      mbarrier_init(q_empty(0, i), kConsumerWarps / kConsumers);
    }
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(k_full(stage), 1);
      mbarrier_init(k_empty(stage), kConsumerWarps * kClusterSize);
      mbarrier_init(v_full(stage), kTransposesV ? kTransposers : 1);
      mbarrier_init(v_empty(stage), kConsumerWarps * (kTransposesV ? 1 : kClusterSize));
      mbarrier_init(v_unclean(stage), 1);
      if constexpr (kTransposesV) mbarrier_init(v_transposed(stage), kTransposers * kClusterSize);
    }
    if constexpr (kClusterSize > 1) fence_mbarrier_init();
  }

 private:
  __device__ SharedAddress barrier(int index) const {
    return base + kBarriersOffset + index * 8;
  }
};

// Releases a stage to all CTAs of the cluster, because each of them writes to it. All lanes of a
// warp must call it.
__device__ inline void release_in_cluster(SharedAddress empty) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if constexpr (kClusterSize == 1) {
    if (lane == 0) mbarrier_arrive(empty);
  } else {
    if (lane < kClusterSize) mbarrier_arrive_in_cluster(address_in(empty, lane));
  }
}

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

}  // namespace cubinet::attention_prefill_wgmma
