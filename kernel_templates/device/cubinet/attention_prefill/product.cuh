// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of `attention_prefill`. One warp multiplies 16 rows with one step of KV. A logit is
// one chain of products over ascending columns, and an element of the output is one chain over
// ascending tokens.
#include <cubinet/attention/softmax.cuh>
#include <cubinet/attention_prefill/shape.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention_prefill {

// The raw logits of 16 rows and a step, as 16x8 tiles.
using Scores = FragmentD[Shape::kStep / 8];
using RowState = RowStateOf<Shape>;
using Weights = WeightsOf<Shape>;

__device__ inline FragmentA load_q_fragment(SharedAddress q_warp, int lane, int step) {
  FragmentA a;
  load_matrix_x4(a.r, advanced_in<Shape::kRowBytesQ>(
                          q_warp + swizzled<Shape::kRowBytesQ>(lane & 15, lane >> 4), 2 * step));
  return a;
}

// The Q fragments of one warp: in registers if they fit, otherwise loaded again for each step.
class QFragments {
 public:
  __device__ QFragments(SharedAddress q_warp, int lane) {
    if constexpr (Shape::kQInRegisters) {
#pragma unroll
      for (int step = 0; step < kStepsQk; ++step)
        kept_[step] = load_q_fragment(q_warp, lane, step);
    }
  }

  __device__ FragmentA get(SharedAddress q_warp, int lane, int step) const {
    if constexpr (Shape::kQInRegisters) {
      return kept_[step];
    } else {
      return load_q_fragment(q_warp, lane, step);
    }
  }

 private:
  FragmentA kept_[Shape::kQInRegisters ? kStepsQk : 1];
};

__device__ inline void multiply_qk(Scores& scores, const QFragments& q_fragments, SharedAddress q_warp,
                                   SharedAddress k_step, int lane) {
  const SharedAddress k_lane =
      k_step + swizzled<Shape::kRowBytesK>((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  // Without Q in registers, the addresses of all steps would not fit either.
#pragma unroll(Shape::kQInRegisters ? kStepsQk : 4)
  for (int step = 0; step < kStepsQk; ++step) {
    const FragmentA q = q_fragments.get(q_warp, lane, step);
#pragma unroll
    for (int tile = 0; tile < Shape::kStep / 8; tile += 2) {
      unsigned k[4];
      load_matrix_x4(k, advanced_in<Shape::kRowBytesK>(k_lane, 2 * step) + tile * 8 * Shape::kRowBytesK);
      mma_16x8x16<dtype>(scores[tile], q, k[0], k[1]);
      mma_16x8x16<dtype>(scores[tile + 1], q, k[2], k[3]);
    }
  }
}

// Adds the product of the weights and a step of V to the output.
__device__ inline void multiply_pv(RowState& state, const Weights& weights, SharedAddress v_step, int lane) {
  const SharedAddress v_lane = v_step + swizzled<Shape::kRowBytesV>(lane & 15, lane >> 4);
#pragma unroll
  for (int step = 0; step < Shape::kStep / 16; ++step) {
#pragma unroll
    for (int tile = 0; tile < Shape::kTilesV; tile += 2) {
      unsigned v[4];
      load_matrix_x4_transposed(v,
                                advanced_in<Shape::kRowBytesV>(v_lane, tile) + step * 16 * Shape::kRowBytesV);
      mma_16x8x16<dtype>(state.output[tile], weights.steps[step], v[0], v[1]);
      mma_16x8x16<dtype>(state.output[tile + 1], weights.steps[step], v[2], v[3]);
    }
  }
}

}  // namespace cubinet::attention_prefill
