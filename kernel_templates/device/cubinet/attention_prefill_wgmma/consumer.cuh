// SPDX-License-Identifier: Apache-2.0
#pragma once
// The consumer warpgroups of `attention_prefill_wgmma`, which multiply.
#include <cubinet/attention_prefill_wgmma/epilogue.cuh>
#include <cubinet/attention_prefill_wgmma/layout.cuh>

namespace cubinet::attention_prefill_wgmma {

// One consumer warpgroup, which has 64 rows of each tile. The products of a step's Q and K, and of
// the previous weights and V, are started together. The softmax of the step starts when the first
// one is complete.
class Consumer {
 public:
  __device__ Consumer(const AttentionPrefillParameters& p, const SharedLayout& layout, int index)
      : p_(p), layout_(layout), index_(index) {}

  // Computes all tiles of the CTA.
  __device__ void run() {
    TileReader tiles(layout_);
#pragma unroll 1
    while (tiles.next()) {
      tiles.release();
      compute(tiles);
    }
  }

 private:
  // The state of a tile.
  struct State {
    __device__ State(const AttentionPrefillParameters& p, const TileReader& tiles, const Tile& tile)
        : visibility(p, tiles, tile), softmax(p), end(tile.first_step + tile.steps) {}

    Visibility visibility;
    RowSoftmax softmax;
    Output output = {};
    Scores scores;
    Weights weights;
    int end;  // the step after the last one
  };

  __device__ void compute(const TileReader& tiles) {
    const Tile tile = tiles.tile();
    State state(p_, tiles, tile);
    if (tile.steps > 0) compute_steps(state, tile.first_step);
    Epilogue(p_, tiles.tile()).store(state.softmax, state.output);
  }

  // The steps use the stages 0 and 1 in turn. Stages are constants so that the descriptors of the
  // operands are in registers of the warp.
  __device__ void compute_steps(State& state, int step) {
    compute_first(state, step);
    int last_stage = 0;
#pragma unroll 1
    while (true) {
      last_stage = 0;
      if (++step >= state.end) break;
      compute_next<1>(state, step);
      last_stage = 1;
      if (++step >= state.end) break;
      compute_next<0>(state, step);
    }
    release(layout_.q_empty());
    wgmma_begin(state.output, state.weights);
    multiply_pv(state.output, state.weights, last_stage);
    wgmma_wait<0>(state.output, state.weights);
    release(layout_.v_empty(last_stage));
  }

  // Computes the weights of the first step.
  __device__ void compute_first(State& state, int step) {
    mbarrier_wait(layout_.q_full(), q_parity_);
    q_parity_ ^= 1;
    mbarrier_wait(layout_.k_full(0), k_.parity(0));
    k_.end(0);
    wgmma_begin(state.scores);
    multiply_qk(state.scores, 0);
    wgmma_wait<0>(state.scores);
    release(layout_.k_empty(0));
    state.softmax.cap(state.scores);
    state.visibility.mask(p_, state.scores, step);
    state.softmax.update_maxima(state.scores);
    state.softmax.weigh(state.scores, 0);
    if (step + 1 < state.end) wait_for_k(1, state);
    wait_for_v(0);
    state.softmax.weigh(state.scores, 1);
    pack(state.weights, state.scores);
  }

  // Computes the weights of a step, and adds the product of the previous weights and V. K of the
  // step is in stage kStage, and the previous V in the other one; both have arrived.
  template <int kStage>
  __device__ void compute_next(State& state, int step) {
    constexpr int kOther = 1 - kStage;
    wgmma_begin(state.scores, state.output, state.weights);
    multiply_qk(state.scores, kStage);
    multiply_pv(state.output, state.weights, kOther);
    wgmma_wait<1>(state.scores);
    release(layout_.k_empty(kStage));
    state.softmax.cap(state.scores);
    state.visibility.mask(p_, state.scores, step);
    state.softmax.update_maxima(state.scores);
    state.softmax.weigh(state.scores, 0);
    keep_in_order(state.scores);
    // The branches of this wait keep the compiler from moving wgmma_wait() before these weights.
    if (step + 1 < state.end) wait_for_k(kOther, state);
    wait_for_v(kStage);
    wgmma_wait<0>(state.output, state.weights);
    release(layout_.v_empty(kOther));
    state.softmax.weigh(state.scores, 1);
    pack(state.weights, state.scores);
    state.softmax.correct(state.output);
  }

  __device__ void wait_for_v(int stage) {
    mbarrier_wait(layout_.v_full(stage), v_.parity(stage));
    v_.end(stage);
  }
  __device__ void wait_for_k(int stage, const State& state) {
    mbarrier_wait(layout_.k_full(stage), state.softmax.after_weights(k_.parity(stage)));
    k_.end(stage);
  }

  // Starts the product of Q and K of the next step.
  __device__ void multiply_qk(Scores& scores, int stage) const {
    const MatrixDescriptor k = rows_of_k(layout_.k(stage));
    const MatrixDescriptor q = rows_of_k(layout_.q() + index_ * kWarpgroupRows * kBlockRowBytes);
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
  __device__ void multiply_pv(Output& output, Weights& weights, int stage) const {
    const MatrixDescriptor v = columns_of_k(layout_.v(stage), kKvBlockBytes);
#pragma unroll
    for (int part = 0; part < kStep / 16; ++part)
      Wgmma<dtype, head_dim_v>::template multiply<LayoutB::columns_of_k>(
          output, weights[part], descriptor_behind(v, part * 16 * kBlockRowBytes), true);
    wgmma_commit();
  }

  // Each warp releases a stage.
  __device__ static void release(SharedAddress empty) {
    if (threadIdx.x % 32 == 0) mbarrier_arrive(empty);
  }

  const AttentionPrefillParameters& p_;
  const SharedLayout& layout_;
  int index_;
  Phases k_;
  Phases v_;
  unsigned q_parity_ = 0;
};

}  // namespace cubinet::attention_prefill_wgmma
