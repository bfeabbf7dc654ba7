// SPDX-License-Identifier: Apache-2.0
#pragma once
// The consumer warpgroups of `attention_prefill_wgmma`, which multiply.
#include <cubinet/attention_prefill_wgmma/epilogue.cuh>
#include <cubinet/attention_prefill_wgmma/layout.cuh>
#include <cubinet/warp_roles.cuh>

namespace cubinet::attention_prefill_wgmma {

// One consumer warpgroup, which has 64 rows of each tile. It computes the scores of a step while
// the product of the previous weights and V is in flight. The warpgroups take turns: one issues its
// products while the others compute the softmax.
class Consumer {
 public:
  __device__ Consumer(const AttentionPrefillParameters& p, const SharedLayout& layout, int index)
      : p_(p), layout_(layout), index_(index) {
    if (kTakesTurns && index == kConsumers - 1) pass_turn();
  }

  // Computes all tiles of the CTA.
  __device__ void run() {
    TileReader tiles(layout_);
    Tile tile;
#pragma unroll 1
    while (tiles.read(tile))
      compute(tile);
  }

 private:
  static constexpr bool kTakesTurns = ping_pong;

  __device__ int first_row() const { return index_ * kWarpgroupRows; }
  __device__ int row() const {
    return first_row() + static_cast<int>(threadIdx.x) % kWarpgroup / 32 * 16 +
           static_cast<int>(threadIdx.x) % 32 / 4;
  }

  __device__ void compute(const Tile& tile) {
    RowSoftmax softmax(p_);
    Output output = {};
    if (tile.steps > 0) compute_steps(tile, softmax, output);
    Epilogue(p_, tile, row()).store(softmax, output);
  }

  __device__ void compute_steps(const Tile& tile, RowSoftmax& softmax, Output& output) {
    const Visibility visibility(p_, tile, first_row(), row());
    const int end = tile.first_step + tile.steps;
    Scores scores;
    Weights weights;
    mbarrier_wait(layout_.q_full(), q_parity_);
    q_parity_ ^= 1;
    mbarrier_wait(layout_.k_full(position_.stage()), position_.parity());
    wgmma_begin(scores);
    multiply_qk(scores, k_descriptor(position_.stage()));
    wgmma_wait<0>(scores);
    release(layout_.k_empty(position_.stage()));
    softmax.cap(scores);
    visibility.mask(p_, scores, tile.first_step);
    softmax.update_maxima(scores);
    softmax.weigh(scores, 0);
    softmax.weigh(scores, 1);
    pack(weights, scores);
    RingPosition next = position_.next();
    if (tile.steps > 1) mbarrier_wait(layout_.k_full(next.stage()), next.parity());
#pragma unroll 1
    for (int step = tile.first_step + 1; step < end; ++step) {
      mbarrier_wait(layout_.v_full(position_.stage()), position_.parity());
      const MatrixDescriptor k = k_descriptor(next.stage());
      const MatrixDescriptor v = v_descriptor(position_.stage());
      if (kTakesTurns) wait_for_turn();
      wgmma_begin(scores, output, weights);
      multiply_qk(scores, k);
      multiply_pv(output, weights, v);
      if (kTakesTurns) pass_turn();
      wgmma_wait<1>(scores);
      release(layout_.k_empty(next.stage()));
      softmax.cap(scores);
      visibility.mask(p_, scores, step);
      softmax.update_maxima(scores);
      if (WAITPOS >= 1) softmax.weigh(scores, 0);
      if (WAITPOS >= 2) softmax.weigh(scores, 1);
      keep_in_order(scores);
      // This wait keeps the compiler from moving wgmma_wait() before the weights.
      const RingPosition after = next.next();
      if (step + 1 < end)
        mbarrier_wait(layout_.k_full(after.stage()), softmax.after_weights(after.parity()));
      wgmma_wait<0>(output, weights);
      release(layout_.v_empty(position_.stage()));
      if (WAITPOS < 1) softmax.weigh(scores, 0);
      if (WAITPOS < 2) softmax.weigh(scores, 1);
      pack(weights, scores);
      softmax.correct(output);
      position_ = next;
      next = after;
    }
    release(layout_.q_empty());
    mbarrier_wait(layout_.v_full(position_.stage()), position_.parity());
    wgmma_begin(output, weights);
    multiply_pv(output, weights, v_descriptor(position_.stage()));
    wgmma_wait<0>(output, weights);
    release(layout_.v_empty(position_.stage()));
    position_ = next;
  }

  __device__ MatrixDescriptor k_descriptor(int stage) const {
    return descriptor_behind(rows_of_k(layout_.k(0)), of_warp(stage * kStageBytesK));
  }
  __device__ MatrixDescriptor v_descriptor(int stage) const {
    return descriptor_behind(columns_of_k(layout_.v(0), kKvBlockBytes), of_warp(stage * kStageBytesV));
  }

  // Starts the product of Q and K of the next step.
  __device__ void multiply_qk(Scores& scores, MatrixDescriptor k) const {
    const MatrixDescriptor q = rows_of_k(layout_.q() + first_row() * kBlockRowBytes);
#pragma unroll
    for (int block = 0; block < kBlocksQk; ++block) {
#pragma unroll
      for (int part = 0; part < 4; ++part)
        Wgmma<dtype, kStep>::multiply(scores, descriptor_behind(q, block * kQBlockBytes + part * 32),
                                      descriptor_behind(k, block * kKvBlockBytes + part * 32),
                                      block + part > 0);
    }
    wgmma_commit();
  }

  // Starts the product of the weights and V, which is added to the output.
  __device__ void multiply_pv(Output& output, Weights& weights, MatrixDescriptor v) const {
#pragma unroll
    for (int part = 0; part < kStep / 16; ++part)
      Wgmma<dtype, head_dim_v>::template multiply<LayoutB::columns_of_k>(
          output, weights[part], descriptor_behind(v, part * 16 * kBlockRowBytes), true);
    wgmma_commit();
  }

  // Returns a number that is the same in all lanes, in a register of the warp.
  __device__ static int of_warp(int number) { return __shfl_sync(kAllLanes, number, 0); }

  // Each warp releases a stage.
  __device__ static void release(SharedAddress empty) {
    if (threadIdx.x % 32 == 0) mbarrier_arrive(empty);
  }
  // Barrier 1 + i begins the turn of warpgroup i.
  __device__ void wait_for_turn() const { synchronize_warps<2 * kWarpgroup>(1 + index_); }
  __device__ void pass_turn() const {
    arrive_at_barrier(1 + (index_ + 1 == kConsumers ? 0 : index_ + 1), 2 * kWarpgroup);
  }

  const AttentionPrefillParameters& p_;
  const SharedLayout& layout_;
  int index_;
  RingPosition position_;
  unsigned q_parity_ = 0;
};

}  // namespace cubinet::attention_prefill_wgmma
