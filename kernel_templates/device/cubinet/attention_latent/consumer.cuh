// SPDX-License-Identifier: Apache-2.0
#pragma once
// The consumer warpgroups of `attention_latent`, which multiply.
#include <cubinet/attention_latent/converting_producer.cuh>
#include <cubinet/attention_latent/output.cuh>
#include <cubinet/attention_latent/scores.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_latent {

// One of the two consumers. Slices come in pairs, one in each slot. Consumer 0 computes the scores
// of the first slice, consumer 1 those of the second, and each accumulates half of the output's
// columns for both. A thread receives its data from the thread with the same index in the other
// consumer, because product fragments have the same layout in both.
class Consumer {
 public:
  __device__ Consumer(const AttentionDecodeParameters& p, const SharedLayout& layout, int half)
      : p_(p), layout_(layout), half_(half), thread_(threadIdx.x % kWarpgroup) {
    softmax_scale_log2_ = softmax_scale_log2(p);
  }

  __device__ void process(const WorkDivision& division, const WorkItem& item, const PackedRows& rows,
                          const ItemTokens& tokens) {
    const int slices = tokens.steps();
    wait_for_q(item, rows);
    const float scale_log2 = softmax_scale_log2_ * k_scale<Shape::kHasHeadScales>(p_, item.sequence.index, 0);
    RowSoftmax softmax(p_, layout_, item, rows, row(), scale_log2);
    Output output = {};
#pragma unroll 1
    for (int i = 0; i < slices; i += 2)
      process_pair(softmax, output, tokens.begin + i * kSlice, i + 1 < slices, i + 2 >= slices);
    if (slices == 0) release_q();

    float sums[2] = {softmax.sum(0), softmax.sum(1)};
    add_other(sums);
    RowEnds ends;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const bool any = sums[half] > 0.0f;
      ends.factor[half] = any ? reciprocal_approx(sums[half]) : 0.0f;
      ends.lse[half] = any ? softmax.maxima[half] + log2_approx(sums[half]) : negative_infinity();
    }
    const OutputPlace place{row(), half_ * kColumns};
    if (has_rows()) store(p_, division, item, rows, output, ends, place);
    if (p_.counters != 0 && !item.is_whole_tile())
      combine_if_last(p_, layout_, division, item, rows, output, ends, place);
  }

 private:
  // If true, the softmax of the second slice runs while the product of the first slice with V is in
  // flight. This is false for converted slices: their slots, and the registers, are needed earlier.
  static constexpr bool kOverlapsSoftmax = !kConvertsKv;

  __device__ void wait_for_q(const WorkItem& item, const PackedRows& rows) {
    if constexpr (kConvertsKv) {
      synchronize_warps(1, 2 * kWarpgroup);
      convert_q<2 * kWarpgroup>(p_, layout_, item.sequence, rows, half_ * kWarpgroup + thread_);
      synchronize_warps(1, 2 * kWarpgroup);
    } else {
      mbarrier_wait(layout_.q_full(), q_phase_);
      fence_async_proxy();
      q_phase_ ^= 1;
    }
  }

  __device__ int lane() const {
    return thread_ % 32;
  }
  __device__ int row() const {
    return thread_ / 32 * 16 + lane() / 4;
  }
  __device__ bool has_rows() const {
    return thread_ / 32 * 16 < tile_size_q;
  }

  // Each warp releases Q of the item.
  __device__ void release_q() const {
    if (!kConvertsKv && lane() == 0) mbarrier_arrive(layout_.q_empty());
  }

  // Processes two slices, or the last one alone. Releases Q early if they are the last ones of the
  // item, so that Q of the next one arrives meanwhile.
  __device__ void process_pair(RowSoftmax& softmax, Output& output, int token, bool two, bool are_last) {
    FragmentD scores[RowSoftmax::kTiles];
    if (half_ == 0 || (kOverlapsSoftmax && two)) multiply_qk(scores);
    if (are_last) release_q();
    Weights first = {};
    if (half_ == 0) {
      if (has_rows()) softmax.update(scores, token, first);
      send(softmax, first);
    } else {
      receive(softmax, first);
    }
    correct(softmax.corrections, output);
    start_pv(output, first, 0);
    if (!kOverlapsSoftmax) finish_pv(output, first, 0);
    Weights second = {};
    if (half_ == 0) {
      if (kOverlapsSoftmax) finish_pv(output, first, 0);
      receive(softmax, second);
    } else {
      if (!kOverlapsSoftmax && two) multiply_qk(scores);
      if (two && has_rows()) softmax.update(scores, token + kSlice, second);
      send(softmax, second);
      if (kOverlapsSoftmax) finish_pv(output, first, 0);
    }
    if (!two) return;
    correct(softmax.corrections, output);
    start_pv(output, second, 1);
    finish_pv(output, second, 1);
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

  // Corrects the accumulators. After a few slices the maxima are stable and no correction is
  // needed.
  __device__ static void correct(const float (&factors)[2], Output& output) {
    const float upper = factors[0];
    const float lower = factors[1];
    if (!__any_sync(kAllLanes, upper != 1.0f || lower != 1.0f)) return;
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile) {
      output[tile].r[0] *= upper;
      output[tile].r[1] *= upper;
      output[tile].r[2] *= lower;
      output[tile].r[3] *= lower;
    }
  }

  // Returns the barrier for messages of a consumer. The messages between two warps alternate, so
  // each has been read before the next is sent.
  __device__ int barrier_of(int sender) const {
    return 2 + sender * 4 + thread_ / 32;
  }
  __device__ void announce() const {
    arrive_at_barrier(barrier_of(half_), 64);
  }
  __device__ void wait_for_other() const {
    synchronize_warps(barrier_of(1 - half_), 64);
  }

  __device__ void send(const RowSoftmax& softmax, const Weights& weights) const {
#pragma unroll
    for (int step = 0; step < kSlice / 16; ++step)
      store_shared_16(layout_.weights(thread_) + step * kWeightsStep, weights[step].r);
    store_shared_floats(layout_.maxima(thread_), softmax.maxima[0], softmax.maxima[1]);
    announce();
  }
  __device__ void receive(RowSoftmax& softmax, Weights& weights) const {
    wait_for_other();
    const float2 maxima = load_shared_floats(layout_.maxima(thread_));
    softmax.advance(0, maxima.x);
    softmax.advance(1, maxima.y);
#pragma unroll
    for (int step = 0; step < kSlice / 16; ++step) {
      const uint4 words = load_shared_16(layout_.weights(thread_) + step * kWeightsStep);
      weights[step] = {{words.x, words.y, words.z, words.w}};
    }
  }
  // Adds the sums of the other consumer. They are exchanged through the memory of the maxima.
  __device__ void add_other(float (&sums)[2]) const {
    const SharedAddress address = layout_.maxima(thread_);
    if (half_ == 1) wait_for_other();
    const float2 other = load_shared_floats(address);
    if (half_ == 1) __syncwarp();
    store_shared_floats(address, sums[0], sums[1]);
    announce();
    if (half_ == 0) {
      wait_for_other();
      const float2 answer = load_shared_floats(address);
      sums[0] += answer.x;
      sums[1] += answer.y;
    } else {
      sums[0] += other.x;
      sums[1] += other.y;
    }
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int half_;
  int thread_;
  float softmax_scale_log2_;
  unsigned kv_phase_ = 0;
  unsigned q_phase_ = 0;
};

}  // namespace cubinet::attention_latent
