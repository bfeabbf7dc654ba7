// SPDX-License-Identifier: Apache-2.0
#pragma once
// The consumer warpgroups of `attention_prefill_wgmma`, which multiply.
#include <cubinet/attention_prefill_wgmma/epilogue.cuh>

namespace cubinet::attention_prefill_wgmma {

// V is first used after the weights of its step are complete. If it is transposed, it arrives late,
// and the wait for it is there, unless registers are scarce.
constexpr bool kWaitsLateForV = kTransposesV && kConsumers < 3;

// One consumer warpgroup, which has 64 rows of each tile. The products of a step's Q and K, and of
// the previous weights and V, are started together. The softmax of the step starts when the first
// one is complete. The first product of a tile is started with the last one of the tile before,
// whose output is stored meanwhile.
//
// With invariant numerics a maximum belongs to half a step, and the weights of each half are
// multiplied apart: those of the first half beside the softmax of the second one, those of the
// second half together with Q and K of the next step. A segment begins with an empty maximum and
// sum. The output of the segment before it is complete after the first wait for P V. It is folded
// there.
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
    multiply_qk(scores, first_stage_);
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
          segments(layout),
          sums(layout),
          end(tile.first_step + tile.steps),
          has_rows(__any_sync(kAllLanes, warpgroup_row() < tile.rows(p))) {}

    Visibility visibility;
    RowSoftmax softmax;
    Output output = {};       // of the present segment
    FoldedSegments segments;  // before it
    FoldedOutput sums;        // with e4m3: the steps before those of `output`
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
    multiply_pv(state.output, state.weights, last_stage, kParts - 1, !FoldedOutput::begins_at(state.end - 1));
    const bool has_next = tiles_.next();
    first_stage_ = last_stage ^ 1;
    // Without a next tile, the product is that of old data and is not used: products in a branch
    // would be serialised.
    if (has_next) wait_for_first();
    wgmma_begin(scores);
    multiply_qk(scores, first_stage_);
    wgmma_wait<1>(state.output, state.weights);
    release_v(last_stage);
    const Epilogue epilogue(p_, tiles_.previous());
    if constexpr (kInvariant) {
      attention::FoldFactors factors[2];
      state.softmax.end_segment(state.segments, factors);
      state.segments.add_to(state.output, factors);
      epilogue.store(state.segments, state.output);
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
        if (++step >= state.end) return 0;
        compute_step<1>(state, scores, step);
      }
      is_even = true;
      if (++step >= state.end) return 1;
      compute_step<0>(state, scores, step);
    }
  }

  // Releases K and V of all steps after the first, except V of the last one, without a product.
  // Returns the stage of the last step.
  __device__ int skip_steps(const State& state, int step) {
    int stage = first_stage_;
#pragma unroll 1
    while (++step < state.end) {
      const int before = stage;
      stage ^= 1;
      release_in_cluster(layout_.k_empty(stage));
      if (step + 1 < state.end) wait_for_k(before);
      wait_for_v(stage);
      release_v(before);
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

  // Computes the weights of the first step of a tile.
  __device__ void compute_first(State& state, Scores& scores, int step) {
    wgmma_wait<0>(scores);
    release_in_cluster(layout_.k_empty(first_stage_));
    find_maxima(state, scores, step);
    if constexpr (kInvariant) {
      weigh_first_half(state, scores, first_stage_);
      state.softmax.weigh_last<0>(scores);
      pack(state.weights, part_of<0>(scores));
      weigh_last_half(state, scores, step, first_stage_, false);
    } else {
      state.softmax.weigh(scores, 0);
      if (step + 1 < state.end) wait_for_k(first_stage_ ^ 1, state);
      if constexpr (!kWaitsLateForV) wait_for_v(first_stage_);
      state.softmax.weigh(scores, 1);
      pack(state.weights, part_of<0>(scores));
      if constexpr (kWaitsLateForV) wait_for_v(first_stage_);
    }
  }

  // Computes the weights of a step that follows the first one, and adds the product of the previous
  // weights and V. K of the step is in stage kStage, and V of the previous step in the other one.
  // Both have arrived.
  template <int kStage>
  __device__ void compute_step(State& state, Scores& scores, int step) {
    constexpr int kOther = 1 - kStage;
    wgmma_begin(scores, state.output, state.weights);
    multiply_qk(scores, kStage);
    multiply_pv(state.output, state.weights, kOther, kParts - 1, !FoldedOutput::begins_at(step - 1));
    const bool begins_segment = kInvariant && begins_segment_at(step);
    attention::FoldFactors factors[2];
    if (begins_segment) state.softmax.end_segment(state.segments, factors);
    wgmma_wait<1>(scores);
    release_in_cluster(layout_.k_empty(kStage));
    find_maxima(state, scores, step);
    if constexpr (kInvariant) {
      weigh_first_half(state, scores, kStage);
      wgmma_wait<0>(state.output, state.weights);
      release_v(kOther);
      if (begins_segment) state.segments.add_output(state.output, factors);
      state.softmax.correct<0>(state.output, state.sums);
      state.softmax.weigh_last<0>(scores);
      pack(state.weights, part_of<0>(scores));
      weigh_last_half(state, scores, step, kStage, !begins_segment);
    } else {
      state.softmax.weigh(scores, 0);
      keep_in_order(scores);
      // The branches of these waits keep the compiler from moving wgmma_wait() before these
      // weights.
      if (step + 1 < state.end) wait_for_k(kOther, state);
      if constexpr (!kWaitsLateForV) wait_for_v(kStage);
      wgmma_wait<0>(state.output, state.weights);
      release_v(kOther);
      state.softmax.weigh(scores, 1);
      pack(state.weights, part_of<0>(scores));
      state.softmax.correct<0>(state.output, state.sums);
      state.sums.fold(state.output, step);
      if constexpr (kWaitsLateForV) wait_for_v(kStage);
    }
  }

  __device__ void find_maxima(State& state, Scores& scores, int step) const {
    state.softmax.cap(scores);
    state.visibility.mask(p_, scores, step);
    state.softmax.update_maxima(scores);
  }

  // Computes the first weights of the first half of a step, with invariant numerics, and waits for
  // V of its stage. This wait and that for K keep wgmma_wait() behind the weights.
  __device__ void weigh_first_half(State& state, Scores& scores, int stage) {
    state.softmax.weigh_first<0>(scores);
    keep_in_order(part_of<0>(scores));
    mbarrier_wait(layout_.v_full(stage), state.softmax.after_weights(v_.parity(stage)));
    v_.end(stage);
  }

  // Multiplies the packed weights of the first half of a step and V. Computes the weights of the
  // second half meanwhile.
  __device__ void weigh_last_half(State& state, Scores& scores, int step, int stage, bool adds) {
    constexpr int kLast = kParts - 1;
    wgmma_begin(state.output, state.weights);
    multiply_pv(state.output, state.weights, stage, 0, adds);
    state.softmax.weigh_first<kLast>(scores);
    keep_in_order(part_of<kLast>(scores));
    if (step + 1 < state.end) wait_for_k(stage ^ 1, state);
    wgmma_wait<0>(state.output, state.weights);
    state.softmax.correct<kLast>(state.output, state.sums);
    state.softmax.weigh_last<kLast>(scores);
    pack(state.weights, part_of<kLast>(scores));
  }

  __device__ void wait_for_v(int stage) {
    mbarrier_wait(layout_.v_full(stage), v_.parity(stage));
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

  // Starts the product of Q and K of a stage.
  __device__ void multiply_qk(Scores& scores, int stage) const {
    const MatrixDescriptor k = rows_of_k(layout_.k(stage), kGroupBytesK);
    // The result of a vote is uniform, so the descriptor is in registers of the warp.
    const int q_stage = kQStages > 1 && __any_sync(kAllLanes, q_stage_ != 0) ? 1 : 0;
    const MatrixDescriptor q = rows_of_k(layout_.q(q_stage) + index_ * kWarpgroupRows * kBlockRowBytes);
#pragma unroll
    for (int block = 0; block < kBlocksQk; ++block) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        if (block * kBlockElements + part * kProductDepth >= head_dim_qk) break;
        Wgmma<dtype, kStep>::multiply(scores, descriptor_behind(q, block * kQBlockBytes + part * 32),
                                      descriptor_behind(k, block * kKvBlockBytes + part * 32),
                                      block + part > 0);
      }
    }
    wgmma_commit();
  }

  // Starts the product of the weights of a part of a step and V of a stage, which is added to the
  // output or, if `adds` is false, replaces it.
  __device__ void multiply_pv(Output& output, Weights& weights, int stage, int of_step, bool adds) const {
    constexpr LayoutB kLayout = kTransposesV ? LayoutB::rows_of_k : LayoutB::columns_of_k;
    const MatrixDescriptor v =
        kTransposesV ? rows_of_k(layout_.transposed_v(stage))
                     : columns_of_k(layout_.v(stage) + of_step * (kPart / kGroupRows) * kGroupBytesV,
                                    kKvBlockBytes, kGroupBytesV);
#pragma unroll
    for (int part = 0; part < kPart / kProductDepth; ++part) {
      const int offset =
          kTransposesV ? part / 4 * kTransposedBlockBytes + part % 4 * 32 : part * 2 * kGroupBytesV;
      Wgmma<dtype, head_dim_v>::template multiply<kLayout>(output, weights[part],
                                                           descriptor_behind(v, offset), part > 0 || adds);
    }
    wgmma_commit();
  }

  // Each warp releases a stage of V, which the CTA itself writes if V is transposed.
  __device__ void release_v(int stage) const {
    if constexpr (kTransposesV) {
      release(layout_.v_empty(stage));
    } else {
      release_in_cluster(layout_.v_empty(stage));
    }
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
