// SPDX-License-Identifier: Apache-2.0
#pragma once
// The consumer warpgroups of `attention_latent`, which multiply.
#include <cubinet/attention_latent/output.cuh>
#include <cubinet/attention_latent/scores.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_latent {

// One of the two consumers. `Products` is Products or E4m3Products. Slices come in pairs, one in
// each slot. Consumer 0 computes the scores of the first slice, consumer 1 those of the second, and
// each accumulates half of the output's columns for both. A thread receives its data from the
// thread with the same index in the other consumer, because product fragments have the same layout
// in both.
template <class Products, class Layout>
class Consumer {
 public:
  __device__ Consumer(const AttentionDecodeParameters& p, const Layout& layout, int half)
      : p_(p), layout_(layout), products_(p, layout, half), half_(half), thread_(threadIdx.x % kWarpgroup) {
    softmax_scale_log2_ = softmax_scale_log2(p);
  }

  __device__ void process(const WorkDivision& division, const WorkItem& item, const PackedRows& rows,
                          const ItemTokens& tokens) {
    const int slices = tokens.steps();
    products_.wait_for_q(item, rows);
    const float scale_log2 = softmax_scale_log2_ * k_scale<Shape::kHasHeadScales>(p_, item.sequence.index, 0);
    RowSoftmax softmax(p_, layout_, item, rows, row(), scale_log2);
    Output output = {};
#pragma unroll 1
    for (int i = 0; i < slices; i += 2)
      process_pair(softmax, output, tokens.begin + i * kSlice, i + 1 < slices, i + 2 >= slices);
    if (slices == 0) products_.release_q();

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
  __device__ int lane() const {
    return thread_ % 32;
  }
  __device__ int row() const {
    return thread_ / 32 * 16 + lane() / 4;
  }
  __device__ bool has_rows() const {
    return thread_ / 32 * 16 < tile_size_q;
  }

  // Processes two slices, or the last one alone. Releases Q early if they are the last ones of the
  // item, so that Q of the next one arrives meanwhile.
  __device__ void process_pair(RowSoftmax& softmax, Output& output, int token, bool two, bool are_last) {
    FragmentD scores[RowSoftmax::kTiles];
    if (half_ == 0 || (Products::kOverlapsSoftmax && two)) products_.multiply_qk(scores);
    if (are_last) products_.release_q();
    Weights first = {};
    if (half_ == 0) {
      if (has_rows()) softmax.update(scores, token, first);
      send(softmax, first);
    } else {
      receive(softmax, first);
    }
    correct(softmax.corrections, output);
    products_.start_pv(output, first, 0);
    if (!Products::kOverlapsSoftmax) products_.finish_pv(output, first, 0);
    Weights second = {};
    if (half_ == 0) {
      if (Products::kOverlapsSoftmax) products_.finish_pv(output, first, 0);
      receive(softmax, second);
    } else {
      if (!Products::kOverlapsSoftmax && two) products_.multiply_qk(scores);
      if (two && has_rows()) softmax.update(scores, token + kSlice, second);
      send(softmax, second);
      if (Products::kOverlapsSoftmax) products_.finish_pv(output, first, 0);
    }
    if (!two) return products_.end_pair(1);
    correct(softmax.corrections, output);
    products_.start_pv(output, second, 1);
    products_.finish_pv(output, second, 1);
    products_.end_pair(2);
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
  const ExchangeLayout& layout_;
  Products products_;
  int half_;
  int thread_;
  float softmax_scale_log2_;
};

}  // namespace cubinet::attention_latent
