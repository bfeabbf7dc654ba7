// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared memory and the barriers of `attention_prefill_wgmma`.
#include <cubinet/attention_prefill_wgmma/schedule.cuh>
#include <cubinet/mbarrier.cuh>

namespace cubinet::attention_prefill_wgmma {

// Q and its tile have one stage, K and V have `stages` each. A stage is full when its bytes have
// arrived, and empty when each consumer warp has released it.
struct SharedLayout {
  SharedAddress base;

  __device__ SharedAddress q() const { return base; }
  __device__ SharedAddress k(int stage) const { return base + kKOffset + stage * kStageBytesK; }
  __device__ SharedAddress v(int stage) const { return base + kVOffset + stage * kStageBytesV; }
  __device__ SharedAddress tile() const { return base + kTileOffset; }
  __device__ SharedAddress q_full() const { return barrier(0); }
  __device__ SharedAddress q_empty() const { return barrier(1); }
  __device__ SharedAddress k_full(int stage) const { return barrier(2 + stage); }
  __device__ SharedAddress k_empty(int stage) const { return barrier(2 + stages + stage); }
  __device__ SharedAddress v_full(int stage) const { return barrier(2 + 2 * stages + stage); }
  __device__ SharedAddress v_empty(int stage) const { return barrier(2 + 3 * stages + stage); }
  // The stage holds V with rows that must become zero before it is full.
  __device__ SharedAddress v_unclean(int stage) const { return barrier(2 + 4 * stages + stage); }

  __device__ void init() const {
    constexpr int kConsumerWarps = 4 * kConsumers;
    mbarrier_init(q_full(), 1);
    mbarrier_init(q_empty(), kConsumerWarps + 1);
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(k_full(stage), 1);
      mbarrier_init(k_empty(stage), kConsumerWarps);
      mbarrier_init(v_full(stage), 1);
      mbarrier_init(v_empty(stage), kConsumerWarps);
      mbarrier_init(v_unclean(stage), 1);
    }
  }

  // The tile is stored beside Q.
  __device__ void store_tile(const Tile& of) const { store_shared_object(tile(), of); }
  __device__ Tile load_tile() const {
    Tile of;
    load_shared_object(tile(), of);
    return of;
  }

 private:
  __device__ SharedAddress barrier(int index) const { return base + kBarriersOffset + index * 8; }
};

// The stage of a step, and the parity of its phase. Stages are used in turn.
struct Stage {
  int index = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++index == stages) {
      index = 0;
      parity ^= 1;
    }
  }
};

}  // namespace cubinet::attention_prefill_wgmma
