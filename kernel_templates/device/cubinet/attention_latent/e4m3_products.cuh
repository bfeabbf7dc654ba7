// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of a consumer of `attention_latent` if Q and KV are e4m3: scores of e4m3, and
// weights and V of fp16.
#include <cubinet/attention_latent/e4m3_layout.cuh>
#include <cubinet/attention_latent/output.cuh>
#include <cubinet/attention_latent/scores.cuh>

namespace cubinet::attention_latent {

class E4m3Products {
 public:
  static constexpr bool kOverlapsSoftmax = true;  // as Products

  __device__ E4m3Products(const AttentionDecodeParameters&, const E4m3Layout& layout, int half)
      : layout_(layout), half_(half) {}

  __device__ void wait_for_q(const WorkItem&, const PackedRows&) {
    mbarrier_wait(layout_.q_full(), q_phase_);
    fence_async_proxy();
    q_phase_ ^= 1;
  }
  __device__ void release_q() const { arrive(layout_.q_empty()); }

  // Computes the scores of the warpgroup's slice, and releases it. The tensor cores cut a sum to
  // about 14 bits after each of the products.
  __device__ void multiply_qk(FragmentD (&scores)[RowSoftmax::kTiles]) const {
    const KPlace place(number_ + half_);
    const int operand = E4m3Layout::operand_of(place.slot);
    mbarrier_wait(layout_.k_full(place.slot), place.phase);
    fence_async_proxy();
    wgmma_begin(scores);
    const MatrixDescriptor q = rows_of_k(layout_.operand(E4m3Layout::kQ));
    const MatrixDescriptor k = rows_of_k(layout_.operand(operand));
#pragma unroll
    for (int block = 0; block < e4m3_rows::kBlocks; ++block) {
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        const int offset = block * e4m3_rows::kBlockBytes + step * 32;
        Wgmma<e4m3, kSlice>::multiply(scores, descriptor_behind(q, offset), descriptor_behind(k, offset),
                                      block + step > 0);
      }
    }
    const MatrixDescriptor q_rest = rest_of(E4m3Layout::kQ);
    const MatrixDescriptor k_rest = rest_of(operand);
#pragma unroll
    for (int step = 0; step < e4m3_rows::kRestElements / 32; ++step)
      Wgmma<e4m3, kSlice>::multiply(scores, descriptor_behind(q_rest, step * 32),
                                    descriptor_behind(k_rest, step * 32), true);
    wgmma_commit();
    wgmma_wait<0>(scores);
    arrive(layout_.k_empty(place.slot));
  }

  // Starts the products of the weights and the columns of V of a slice of the pair, which are added
  // to the output.
  __device__ void start_pv(Output& output, Weights& weights, int slice) const {
    const unsigned phase = (number_ + slice) % 2;
    const MatrixDescriptor v =
        columns_of_k(layout_.v(E4m3Layout::part_of(0, half_)), e4m3_rows::kPartBlockBytes);
    wgmma_begin(output, weights);
#pragma unroll
    for (int step = 0; step < e4m3_rows::kSteps; ++step) {
      mbarrier_wait(layout_.v_full(E4m3Layout::part_of(step, half_)), phase);
      wgmma_resume();
      Wgmma<Product, kColumns>::multiply<LayoutB::columns_of_k>(
          output, weights[step], descriptor_behind(v, 2 * step * e4m3_rows::kPartBytes), true);
      wgmma_commit();
    }
  }
  // Blocks until the products are complete, and releases the parts of V one by one.
  __device__ void finish_pv(Output& output, Weights& weights, int /*slice*/) const {
    wgmma_wait<3>();
    release_v(0);
    wgmma_wait<2>();
    release_v(1);
    wgmma_wait<1>();
    release_v(2);
    wgmma_wait<0>(output, weights);
    release_v(3);
  }
  // Ends a pair, of which one or two slices exist.
  __device__ void end_pair(int slices) {
    number_ += slices;
  }

 private:
  static_assert(e4m3_rows::kSteps == 4, "each step has a group of products");

  __device__ void release_v(int step) const {
    arrive(layout_.v_empty(E4m3Layout::part_of(step, half_)));
  }
  __device__ static void arrive(SharedAddress barrier) {
    if (threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
  }
  __device__ MatrixDescriptor rest_of(int operand) const {
    return rows_of_k(layout_.rest(operand) + E4m3Layout::rest_chunk(operand) * 16);
  }

  const E4m3Layout& layout_;
  int half_;
  unsigned number_ = 0;  // of slices of earlier pairs
  unsigned q_phase_ = 0;
};

}  // namespace cubinet::attention_latent
