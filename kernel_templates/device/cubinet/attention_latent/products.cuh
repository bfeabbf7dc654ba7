// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of a consumer of `attention_latent` whose operands have 16 bits.
#include <cubinet/attention_latent/converting_producer.cuh>
#include <cubinet/attention_latent/output.cuh>
#include <cubinet/attention_latent/scores.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_latent {

// Slices come in pairs, one in each slot. `half` is the number of the consumer: of the slice of a
// pair whose scores it computes, and of its half of the output's columns.
class Products {
 public:
  // If true, the softmax of the second slice runs while the product of the first slice with V is in
  // flight. This is false for converted slices: their slots, and the registers, are needed earlier.
  static constexpr bool kOverlapsSoftmax = !kConvertsKv;

  __device__ Products(const AttentionDecodeParameters& p, const SharedLayout& layout, int half)
      : p_(p), layout_(layout), half_(half) {}

  __device__ void wait_for_q(const WorkItem& item, const PackedRows& rows) {
    if constexpr (kConvertsQ) {
      synchronize_warps(1, 2 * kWarpgroup);
      convert_q<2 * kWarpgroup>(p_, layout_, item.sequence, rows,
                                half_ * kWarpgroup + threadIdx.x % kWarpgroup);
      synchronize_warps(1, 2 * kWarpgroup);
    } else {
      mbarrier_wait(layout_.q_full(), q_phase_);
      fence_async_proxy();
      q_phase_ ^= 1;
    }
  }
  // Each warp releases Q of the item.
  __device__ void release_q() const {
    if (!kConvertsQ && threadIdx.x % 32 == 0) mbarrier_arrive(layout_.q_empty());
  }

  // Computes the scores of the warpgroup's slice.
  __device__ void multiply_qk(FragmentD (&scores)[RowSoftmax::kTiles]) {
    const MatrixDescriptor q = rows_of_k(layout_.q());
    const MatrixDescriptor k = rows_of_k(layout_.kv(half_));
    wgmma_begin(scores);
#pragma unroll
    for (int position = 0; position < kBlocksQk; ++position) {
      const int block = block_at(position);
      if (position % kBlocksOfGroup == 0) {
        mbarrier_wait(layout_.kv_full(half_, position / kBlocksOfGroup), kv_phase_);
        // The writers fence for converted KV, and in a cluster. This fence also covers V, and the
        // slice of the other consumer, because its weights arrive later.
        if constexpr (!kConvertsKv && kClusterSize == 1) fence_async_proxy();
        wgmma_resume();
      }
#pragma unroll
      for (int step = 0; step < 4; ++step)
        Wgmma<Product, kSlice>::multiply(scores, descriptor_behind(q, block * kQBlockBytes + step * 32),
                                         descriptor_behind(k, block * kKvBlockBytes + step * 32),
                                         position + step > 0);
    }
    wgmma_commit();
    wgmma_wait<0>(scores);
    kv_phase_ ^= 1;
    layout_.release(half_, Part::rest);
  }

  // Starts the product of the weights and the columns of V of a slice, which is added to the
  // output.
  __device__ void start_pv(Output& output, Weights& weights, int slot) const {
    const MatrixDescriptor v =
        columns_of_k(layout_.kv(slot) + half_ * kBlocksOfHalf * kKvBlockBytes, kKvBlockBytes);
    wgmma_begin(output, weights);
#pragma unroll
    for (int step = 0; step < kSlice / 16; ++step)
      Wgmma<Product, kColumns>::template multiply<LayoutB::columns_of_k>(
          output, weights[step], descriptor_behind(v, step * 16 * kBlockRowBytes), true);
    wgmma_commit();
  }
  // Blocks until the product is complete, and releases the columns.
  __device__ void finish_pv(Output& output, Weights& weights, int slot) const {
    wgmma_wait<0>(output, weights);
    layout_.release(slot, half_ == 0 ? Part::first_half : Part::second_half);
  }

  // Ends a pair, of which one or two slices exist.
  __device__ static void end_pair(int /*slices*/) {}

 private:
  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int half_;
  unsigned kv_phase_ = 0;
  unsigned q_phase_ = 0;
};

}  // namespace cubinet::attention_latent
