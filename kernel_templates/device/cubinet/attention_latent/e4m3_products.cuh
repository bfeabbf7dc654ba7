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
    const unsigned number = number_ + half_;
    const int slot = static_cast<int>(number % e4m3_rows::kSlots);
    const int operand = E4m3Layout::operand_of(slot);
    const MatrixDescriptor q = rows_of_k(layout_.operand(E4m3Layout::kQ));
    const MatrixDescriptor k = rows_of_k(layout_.operand(operand));
    mbarrier_wait(layout_.k_full(slot), number / e4m3_rows::kSlots % 2);
    fence_async_proxy();
    wgmma_begin(scores);
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
    arrive(layout_.k_empty(slot));
  }

  // Starts the products of the weights and the columns of V of a slice of the pair, which are added
  // to the output.
  __device__ void start_pv(Output& output, Weights& weights, int slice) const {
    const unsigned phase = (number_ + slice) % 2;
#pragma unroll
    for (int tokens = 0; tokens < 2; ++tokens) {
      const int part = E4m3Layout::part_of(tokens, half_);
      const MatrixDescriptor v = columns_of_k(layout_.v(part), e4m3_rows::kPartBlockBytes);
      mbarrier_wait(layout_.v_full(part), phase);
      if (tokens == 0) {
        wgmma_begin(output, weights);
      } else {
        wgmma_resume();
      }
#pragma unroll
      for (int step = 0; step < kStepsOfPart; ++step)
        Wgmma<Product, kColumns>::multiply<LayoutB::columns_of_k>(
            output, weights[tokens * kStepsOfPart + step], descriptor_behind(v, step * 16 * kBlockRowBytes),
            true);
      wgmma_commit();
    }
  }
  // Blocks until the products are complete, and releases the parts of V one by one.
  __device__ void finish_pv(Output& output, Weights& weights, int /*slice*/) const {
    wgmma_wait<1>();
    arrive(layout_.v_empty(E4m3Layout::part_of(0, half_)));
    wgmma_wait<0>(output, weights);
    arrive(layout_.v_empty(E4m3Layout::part_of(1, half_)));
  }
  // Ends a pair, of which one or two slices exist.
  __device__ void end_pair(int slices) {
    number_ += slices;
  }

 private:
  static constexpr int kStepsOfPart = e4m3_rows::kPartTokens / 16;

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
