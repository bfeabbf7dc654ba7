// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shared memory and the barriers of `attention_latent`, and the loop over work items.
#include <cubinet/attention/latent.cuh>
#include <cubinet/attention_latent/shape.cuh>
#include <cubinet/cluster.cuh>
#include <cubinet/mbarrier.cuh>

namespace cubinet::attention_latent {

using ItemTokens = ItemTokensOf<Shape>;
using Visible = VisibleOf<Shape>;
using WorkDivision = WorkDivisionOf<Shape>;

// The parts of a slice that are released separately. The consumer of its columns releases each half
// of V; the consumer that computes the scores of the slice releases the rest.
enum class Part { first_half, second_half, rest };

// The shared memory and barriers of all kernels. Those of KV come first.
struct ExchangeLayout {
  SharedAddress base;

  // Returns the address of the weights of one thread: 16 bytes in each of four parts, which are
  // kWeightsStep apart.
  __device__ SharedAddress weights(int thread) const { return base + kWeightsOffset + thread * 16; }
  __device__ SharedAddress maxima(int thread) const { return base + kMaximaOffset + thread * 8; }
  __device__ SharedAddress q_scale(int row) const { return base + kQScalesOffset + 4 * row; }
  __device__ SharedAddress barrier(int number) const { return base + kBarriersOffset + 8 * number; }
  __device__ SharedAddress q_full() const { return barrier(kKvBarriers); }
  __device__ SharedAddress q_empty() const { return barrier(kKvBarriers + 1); }
  __device__ SharedAddress is_last() const { return barrier(kKvBarriers + 2); }
};

// Q and slices of 16-bit elements.
struct SharedLayout : ExchangeLayout {
  __device__ SharedAddress q() const { return base; }
  __device__ SharedAddress kv(int slot) const { return base + kKvOffset + slot * kSlotBytes; }
  __device__ SharedAddress kv_full(int slot, int group) const { return barrier(slot * kGroups + group); }
  __device__ SharedAddress kv_empty(int slot, Part part) const {
    return kv_full(2, slot * 3 + static_cast<int>(part));
  }
  // Blocks until the part of a slot that starts with `block` is released. Must be called before
  // each block is written.
  __device__ void wait_for_slot(int slot, int block, unsigned parity) const {
    if (block == kBlocksQk - 1) mbarrier_wait(kv_empty(slot, Part::rest), parity);
    if (block == 0) mbarrier_wait(kv_empty(slot, Part::first_half), parity);
    if (block == kBlocksOfHalf) mbarrier_wait(kv_empty(slot, Part::second_half), parity);
  }
  // Releases a part of a slot to all CTAs of the cluster, because each of them writes to it. Each
  // warp must call it.
  __device__ void release(int slot, Part part) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (kClusterSize == 1) {
      if (lane == 0) mbarrier_arrive(kv_empty(slot, part));
    } else {
      if (lane < kClusterSize) mbarrier_arrive_in_cluster(address_in(kv_empty(slot, part), lane));
    }
  }
  // Returns the first token of a slice that this CTA copies. Each CTA copies kOwnTokens tokens, one
  // CTA after the other.
  __device__ int first_own_token() const { return static_cast<int>(blockIdx.x) % kClusterSize * kOwnTokens; }

  __device__ void init() const {
#pragma unroll 1
    for (int i = 0; i < 2 * kGroups; ++i)
      mbarrier_init(kv_full(0, i), kCopiesBoxes ? 1 : kWarpgroup);
#pragma unroll 1
    for (int i = 0; i < 6; ++i)
      mbarrier_init(kv_full(2, i), 4 * kClusterSize);
    mbarrier_init(q_full(), kQCopyThreads);
    mbarrier_init(q_empty(), 8);
    if (kClusterSize > 1) fence_mbarrier_init();
  }
};

// Calls `work` for each work item of the CTA.
template <typename Work>
__device__ inline void for_each_item(const AttentionDecodeParameters& p, const WorkDivision& division,
                                     Work work) {
#pragma unroll 1
  for (int unit = division.begin(); unit < division.end();) {
    const WorkItem item = division.item(p, unit);
    const PackedRows rows = WorkDivision::rows_of(p, item);
    work(item, rows, ItemTokens(p, item, rows));
    unit = item.end;
  }
}

}  // namespace cubinet::attention_latent
