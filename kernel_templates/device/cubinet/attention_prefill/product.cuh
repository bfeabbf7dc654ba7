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
using Product = Shape::Product;

// Loads Q in the order of columns in which ldmatrix loads K of 8 bits: the lane that multiplies the
// columns 2i, 2i + 1, 2i + 8 and 2i + 9 of a product has the columns 4i to 4i + 3 of Q and K.
__device__ inline FragmentA load_q_fragment_for_bytes(SharedAddress q_warp, int lane, int step) {
  FragmentA a;
  const int part = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if constexpr (is_same<Shape::Q, e4m3>) {
      const SharedAddress row = q_warp + swizzled<Shape::kRowBytesQ>(lane / 4 + 8 * half, 0);
      const auto pairs = ExactE4m3<Shape::Product>::unpack4(
          load_shared_4(advanced_in<Shape::kRowBytesQ>(row, step) + part * 4));
      a.r[half] = pairs.low;
      a.r[2 + half] = pairs.high;
    } else {
      const SharedAddress row = q_warp + swizzled<Shape::kRowBytesQ>(lane / 4 + 8 * half, part / 2);
      const float2 pairs = load_shared_floats(advanced_in<Shape::kRowBytesQ>(row, 2 * step) + part % 2 * 8);
      a.r[half] = __float_as_uint(pairs.x);
      a.r[2 + half] = __float_as_uint(pairs.y);
    }
  }
  return a;
}

__device__ inline FragmentA load_q_fragment(SharedAddress q_warp, int lane, int step) {
  if constexpr (Shape::kConvertsKv) return load_q_fragment_for_bytes(q_warp, lane, step);
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

// Multiplies Q by K of 8 bits. One ldmatrix loads 32 columns of 16 tokens: two steps.
__device__ inline void multiply_qk_bytes(Scores& scores, const QFragments& q_fragments, SharedAddress q_warp,
                                         SharedAddress k_lane, int lane) {
#pragma unroll(Shape::kQInRegisters ? kStepsQk : 4)
  for (int step = 0; step < kStepsQk; step += 2) {
    FragmentA q[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (kStepsQk % 2 == 0 || step + i < kStepsQk) q[i] = q_fragments.get(q_warp, lane, step + i);
    }
#pragma unroll
    for (int tile = 0; tile < Shape::kStep / 8; tile += 2) {
      unsigned k[4];
      load_matrix_x4(k, advanced_in<Shape::kRowBytesK>(k_lane, step) + tile * 8 * Shape::kRowBytesK);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (kStepsQk % 2 != 0 && step + i >= kStepsQk) continue;
        const auto left = ExactE4m3<Product>::unpack4(k[i]);
        const auto right = ExactE4m3<Product>::unpack4(k[2 + i]);
        mma_16x8x16<Product>(scores[tile], q[i], left.low, left.high);
        mma_16x8x16<Product>(scores[tile + 1], q[i], right.low, right.high);
      }
    }
  }
}

__device__ inline void multiply_qk(Scores& scores, const QFragments& q_fragments, SharedAddress q_warp,
                                   SharedAddress k_step, int lane) {
  const SharedAddress k_lane =
      k_step + swizzled<Shape::kRowBytesK>((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  if constexpr (Shape::kConvertsKv) {
    multiply_qk_bytes(scores, q_fragments, q_warp, k_lane, lane);
  } else {
    // Without Q in registers, the addresses of all steps would not fit either.
#pragma unroll(Shape::kQInRegisters ? kStepsQk : 4)
    for (int step = 0; step < kStepsQk; ++step) {
      const FragmentA q = q_fragments.get(q_warp, lane, step);
#pragma unroll
      for (int tile = 0; tile < Shape::kStep / 8; tile += 2) {
        unsigned k[4];
        load_matrix_x4(k, advanced_in<Shape::kRowBytesK>(k_lane, 2 * step) + tile * 8 * Shape::kRowBytesK);
        mma_16x8x16<Product>(scores[tile], q, k[0], k[1]);
        mma_16x8x16<Product>(scores[tile + 1], q, k[2], k[3]);
      }
    }
  }
}

// Adds the product of the weights and 16 tokens of V to the output. ldmatrix treats two adjacent
// 8-bit elements as one and loads both columns of a token together. So with 8 bits the even columns
// of 16 form the first tile of the output, and the odd columns the second.
__device__ inline void multiply_pv_bytes(RowState& state, const FragmentA& weights, SharedAddress v_lane) {
#pragma unroll
  for (int tile = 0; tile < Shape::kTilesV; tile += 4) {
    unsigned v[4];
    load_matrix_x4_transposed(v, advanced_in<Shape::kRowBytesV>(v_lane, tile / 2));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (tile + 2 * i >= Shape::kTilesV) continue;
      // Bytes 0 and 2 belong to one column.
      const auto older = ExactE4m3<Product>::unpack4(__byte_perm(v[2 * i], 0, 0x3120));
      const auto newer = ExactE4m3<Product>::unpack4(__byte_perm(v[2 * i + 1], 0, 0x3120));
      FragmentD* const output = state.output + tile + 2 * i;
      mma_16x8x16<Product>(output[0], weights, older.low, newer.low);
      mma_16x8x16<Product>(output[1], weights, older.high, newer.high);
    }
  }
}

// Adds the product of the weights and a step of V to the output.
__device__ inline void multiply_pv(RowState& state, const Weights& weights, SharedAddress v_step, int lane) {
  const SharedAddress v_lane = v_step + swizzled<Shape::kRowBytesV>(lane & 15, lane >> 4);
#pragma unroll
  for (int step = 0; step < Shape::kStep / 16; ++step) {
    if constexpr (Shape::kConvertsKv) {
      multiply_pv_bytes(state, weights.steps[step], v_lane + step * 16 * Shape::kRowBytesV);
    } else {
#pragma unroll
      for (int tile = 0; tile < Shape::kTilesV; tile += 2) {
        unsigned v[4];
        load_matrix_x4_transposed(
            v, advanced_in<Shape::kRowBytesV>(v_lane, tile) + step * 16 * Shape::kRowBytesV);
        mma_16x8x16<Product>(state.output[tile], weights.steps[step], v[0], v[1]);
        mma_16x8x16<Product>(state.output[tile + 1], weights.steps[step], v[2], v[3]);
      }
    }
  }
}

}  // namespace cubinet::attention_prefill
