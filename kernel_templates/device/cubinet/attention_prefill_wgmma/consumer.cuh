// SPDX-License-Identifier: Apache-2.0
#pragma once
// The consumer warpgroups of `attention_prefill_wgmma`, which multiply.
#include <cubinet/attention_prefill_wgmma/epilogue.cuh>
#include <cubinet/attention_prefill_wgmma/layout.cuh>

namespace cubinet::attention_prefill_wgmma {

// V is first used after the weights of its step are complete. If it is transposed, it arrives late,
// and the wait for it is there, unless registers are scarce.
constexpr bool kWaitsLateForV = kTransposesV && kConsumers < 3;

// One consumer warpgroup, which has 64 rows of each tile. The products of a slice's Q and K, and of
// the previous weights and V, are started together. The softmax of the slice starts when the first
// one is complete. The first product of a tile is started with the last one of the tile before,
// whose output is stored meanwhile. A slice is a step; with invariant numerics a step has two.
//
// With invariant numerics the weights of the first slice of a segment begin with an empty maximum
// and sum. The output of the segment before it is complete after the slice's wait for P V. It is
// folded there, instead of a correction.
class Consumer {
 public:
  __device__ Consumer(const AttentionPrefillParameters& p, const SharedLayout& layout, int index)
      : p_(p), layout_(layout), index_(index), q_barrier_(loads_q_apart(p) ? index : 0), tiles_(layout) {}

  // Computes all tiles of the CTA.
  __device__ void run() {
    if (!tiles_.next()) return;
    Scores scores;
    wait_for_first();
    wgmma_begin(scores);
    multiply_qk(scores, first_stage_, 0);
    tiles_.release();
#pragma unroll 1
    while (compute(scores)) {
    }
    wgmma_wait<0>(scores);
  }

 private:
  // The state of a tile.
  struct State {
    __device__ State(const AttentionPrefillParameters& p, const SharedLayout& layout, const TileReader& tiles,
                     const Tile& tile)
        : visibility(p, tiles, tile),
          softmax(p, tile),
          sums(layout),
          end(tile.first_step + tile.steps),
          has_rows(__any_sync(kAllLanes, warpgroup_row() < tile.rows(p))) {}

    Visibility visibility;
    RowSoftmax softmax;
    Output output = {};  // of the present segment
    FoldedRows folded;   // the segments before it
    FoldedOutput sums;   // with e4m3: the steps before those of `output`
    Weights weights;
    int end;        // the step after the last one
    bool has_rows;  // whether the tile has rows of this warpgroup
  };

  // Computes a tile, the first product of which has been started, and starts the next one. Returns
  // false if there is none.
  __device__ bool compute(Scores& scores) {
    const Tile tile = tiles_.tile();
    State state(p_, layout_, tiles_, tile);
    const int last_stage = compute_steps(state, scores, tile.first_step);
    release(layout_.q_empty(q_stage_, index_));
    q_stage_ = (q_stage_ + 1) % kQStages;
    wgmma_begin(state.output, state.weights);
    multiply_pv(state.output, state.weights, last_stage, kSlices - 1,
                !FoldedOutput::begins_at(state.end - 1));
    const bool has_next = tiles_.next();
    first_stage_ = last_stage ^ 1;
    // Without a next tile, the product is that of old data and is not used: products in a branch
    // would be serialised.
    if (has_next) wait_for_first();
    wgmma_begin(scores);
    multiply_qk(scores, first_stage_, 0);
    wgmma_wait<1>(state.output, state.weights);
    release(layout_.v_empty(last_stage));
    const Epilogue epilogue(p_, tiles_.previous());
    if constexpr (kInvariant) {
      attention::FoldFactors factors[2];
      state.softmax.end_segment(state.folded, factors);
      state.folded.add_output(state.output, factors);
      epilogue.store(state.folded);
    } else {
      state.sums.add_to(state.output);
      epilogue.store(state.softmax, state.output);
    }
    if (has_next) tiles_.release();
    return has_next;
  }

  // Computes the weights of all steps, and the products of all but the last weights and V. Returns
  // the stage of the last step. Stages are constants in the loop so that the descriptors of the
  // operands are in registers of the warp.
  __device__ int compute_steps(State& state, Scores& scores, int step) {
    compute_first(state, scores, step);
    if (!state.has_rows) return skip_steps(state, step);
    bool is_even = first_stage_ == 0;
#pragma unroll 1
    while (true) {
      if (is_even) {
        compute_rest<0>(state, scores, step);
        if (++step >= state.end) return 0;
        compute_slice<1, 0>(state, scores, step);
      }
      is_even = true;
      compute_rest<1>(state, scores, step);
      if (++step >= state.end) return 1;
      compute_slice<0, 0>(state, scores, step);
    }
  }

  // Releases K and V of all steps after the first, except V of the last one, without a product.
  // Returns the stage of the last step.
  __device__ int skip_steps(const State& state, int step) {
    int stage = first_stage_;
    if constexpr (kSlices > 1) {  // compute_first() leaves both to the last slice of the step
      release(layout_.k_empty(stage));
      if (step + 1 < state.end) wait_for_k(stage ^ 1);
    }
#pragma unroll 1
    while (++step < state.end) {
      const int before = stage;
      stage ^= 1;
      release(layout_.k_empty(stage));
      if (step + 1 < state.end) wait_for_k(before);
      wait_for_v(stage);
      release(layout_.v_empty(before));
    }
    return stage;
  }

  // Blocks until Q and the first K of a tile have arrived.
  __device__ void wait_for_first() {
    mbarrier_wait(layout_.q_full(q_stage_, q_barrier_), q_.parity(q_stage_));
    q_.end(q_stage_);
    mbarrier_wait(layout_.k_full(first_stage_), k_.parity(first_stage_));
    k_.end(first_stage_);
  }

  // Computes the weights of the first slice of a tile.
  __device__ void compute_first(State& state, Scores& scores, int step) {
    wgmma_wait<0>(scores);
    if constexpr (kSlices == 1) release(layout_.k_empty(first_stage_));
    state.softmax.cap(scores);
    state.visibility.mask<0>(p_, scores, step);
    state.softmax.update_maxima(scores);
    state.softmax.weigh(scores, 0);
    if (kSlices == 1 && step + 1 < state.end) wait_for_k(first_stage_ ^ 1, state);
    if constexpr (!kWaitsLateForV) wait_for_v(first_stage_, state);
    state.softmax.weigh(scores, 1);
    pack(state.weights, scores);
    if constexpr (kWaitsLateForV) wait_for_v(first_stage_);
  }

  // Computes the weights of the slices of a step that follow the first one.
  template <int kStage>
  __device__ void compute_rest(State& state, Scores& scores, int step) {
    static_assert(kSlices <= 2);
    if constexpr (kSlices == 2) compute_slice<kStage, 1>(state, scores, step);
  }

  // Computes the weights of a slice, and adds the product of the previous weights and V. K of the
  // step is in stage kStage. V of the previous slice is in the same stage or, if it belongs to the
  // previous step, in the other one. Both have arrived.
  template <int kStage, int kIndex>
  __device__ void compute_slice(State& state, Scores& scores, int step) {
    constexpr int kOther = 1 - kStage;
    constexpr bool kIsFirst = kIndex == 0;
    constexpr bool kIsLast = kIndex == kSlices - 1;
    wgmma_begin(scores, state.output, state.weights);
    multiply_qk(scores, kStage, kIndex);
    multiply_pv(state.output, state.weights, kIsFirst ? kOther : kStage, kIsFirst ? kSlices - 1 : kIndex - 1,
                !FoldedOutput::begins_at(step - 1));
    wgmma_wait<1>(scores);
    if constexpr (kIsLast) release(layout_.k_empty(kStage));
    const bool begins_segment = kIsFirst && begins_segment_at(step);
    attention::FoldFactors factors[2];
    if (begins_segment) state.softmax.end_segment(state.folded, factors);
    state.softmax.cap(scores);
    state.visibility.template mask<kIndex>(p_, scores, step);
    state.softmax.update_maxima(scores);
    state.softmax.weigh(scores, 0);
    keep_in_order(scores);
    // The branches of these waits keep the compiler from moving wgmma_wait() before these weights.
    if (kIsLast && step + 1 < state.end) wait_for_k(kOther, state);
    if constexpr (kIsFirst && !kWaitsLateForV) wait_for_v(kStage, state);
    wgmma_wait<0>(state.output, state.weights);
    if constexpr (kIsFirst) release(layout_.v_empty(kOther));
    state.softmax.weigh(scores, 1);
    pack(state.weights, scores);
    if (begins_segment) {
      state.folded.add_output(state.output, factors);
    } else {
      state.softmax.correct(state.output, state.sums);
      state.sums.fold(state.output, step);
    }
    if constexpr (kWaitsLateForV) wait_for_v(kStage);
  }

  __device__ void wait_for_v(int stage) {
    mbarrier_wait(layout_.v_full(stage), v_.parity(stage));
    v_.end(stage);
  }
  __device__ void wait_for_v(int stage, const State& state) {
    if constexpr (kSlices == 1) return wait_for_v(stage);
    mbarrier_wait(layout_.v_full(stage), state.softmax.after_weights(v_.parity(stage)));
    v_.end(stage);
  }
  __device__ void wait_for_k(int stage) {
    mbarrier_wait(layout_.k_full(stage), k_.parity(stage));
    k_.end(stage);
  }
  __device__ void wait_for_k(int stage, const State& state) {
    mbarrier_wait(layout_.k_full(stage), state.softmax.after_weights(k_.parity(stage)));
    k_.end(stage);
  }

  // Starts the product of Q and K of a slice of a stage.
  __device__ void multiply_qk(Scores& scores, int stage, int slice) const {
    const MatrixDescriptor k =
        rows_of_k(layout_.k(stage) + slice * (kSlice / kGroupRows) * kGroupBytesK, kGroupBytesK);
    // The result of a vote is uniform, so the descriptor is in registers of the warp.
    const int q_stage = kQStages > 1 && __any_sync(kAllLanes, q_stage_ != 0) ? 1 : 0;
    const MatrixDescriptor q = rows_of_k(layout_.q(q_stage) + index_ * kWarpgroupRows * kBlockRowBytes);
#pragma unroll
    for (int block = 0; block < kBlocksQk; ++block) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        if (block * kBlockElements + part * kProductDepth >= head_dim_qk) break;
        Wgmma<dtype, kSlice>::multiply(scores, descriptor_behind(q, block * kQBlockBytes + part * 32),
                                       descriptor_behind(k, block * kKvBlockBytes + part * 32),
                                       block + part > 0);
      }
    }
    wgmma_commit();
  }

  // Starts the product of the weights and V of a slice of a stage, which is added to the output or,
  // if `adds` is false, replaces it.
  __device__ void multiply_pv(Output& output, Weights& weights, int stage, int slice, bool adds) const {
    constexpr LayoutB kLayout = kTransposesV ? LayoutB::rows_of_k : LayoutB::columns_of_k;
    const MatrixDescriptor v =
        kTransposesV ? rows_of_k(layout_.transposed_v(stage))
                     : columns_of_k(layout_.v(stage) + slice * (kSlice / kGroupRows) * kGroupBytesV,
                                    kKvBlockBytes, kGroupBytesV);
#pragma unroll
    for (int part = 0; part < kSlice / kProductDepth; ++part) {
      const int offset =
          kTransposesV ? part / 4 * kTransposedBlockBytes + part % 4 * 32 : part * 2 * kGroupBytesV;
      Wgmma<dtype, head_dim_v>::template multiply<kLayout>(output, weights[part],
                                                           descriptor_behind(v, offset), part > 0 || adds);
    }
    wgmma_commit();
  }

  // Each warp releases a stage.
  __device__ static void release(SharedAddress empty) {
    if (threadIdx.x % 32 == 0) mbarrier_arrive(empty);
  }

  const AttentionPrefillParameters& p_;
  const SharedLayout& layout_;
  int index_;
  int q_barrier_;  // the consumer at whose barrier Q arrives
  TileReader tiles_;
  Phases k_;
  Phases v_;
  Phases q_;
  int q_stage_ = 0;
  int first_stage_ = 0;  // of K and V of the tile
};

}  // namespace cubinet::attention_prefill_wgmma
