// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of the template `attention_decode`: one warp, 16 rows, one slice of 16 tokens at a time.
#include <cubinet/attention_decode_shape.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

__device__ inline FragmentA load_q_fragment(SharedAddress q_warp, int lane, int step) {
  FragmentA a;
  load_matrix_x4(a.r, advanced(q_warp + swizzled<kRowBytesQk>(lane & 15, lane >> 4), 2 * step));
  return a;
}

// Q of one warp: in registers where they hold it, else read again for each slice.
class QFragments {
 public:
  __device__ QFragments(SharedAddress q_warp, int lane) {
    if constexpr (kQInRegisters) {
#pragma unroll
      for (int step = 0; step < kStepsQk; ++step)
        kept_[step] = load_q_fragment(q_warp, lane, step);
    }
  }

  __device__ FragmentA get(SharedAddress q_warp, int lane, int step) const {
    if constexpr (kQInRegisters) {
      return kept_[step];
    } else {
      return load_q_fragment(q_warp, lane, step);
    }
  }

 private:
  FragmentA kept_[kQInRegisters ? kStepsQk : 1];
};

// The running softmax and output of one warp: 16 rows, of which a lane holds rows lane/4 and lane/4 + 8.
struct RowState {
  // Of the base-2 logits, each rounded to a float: weights, corrections and the log-sum-exp are relative to
  // this very number. Worked out anew from a raw maximum, the product would be fused with the subtraction
  // that follows and leave its rounding error behind in every slice.
  float maximum[2];
  float sum[2];  // this lane's share
  FragmentD output[kTilesV];
};

// Raw logits of 16 rows and the slice's 16 tokens, as two 16x8 tiles.
__device__ inline void multiply_qk(FragmentD (&scores)[2], const QFragments& q_fragments,
                                   SharedAddress q_warp, SharedAddress k_slice, int lane) {
  // Even and odd steps have sums of their own: the chain of dependent products is half as long.
  FragmentD odd[2] = {};
  scores[0] = scores[1] = FragmentD{};
  const SharedAddress k_lane =
      k_slice + swizzled<kRowBytesQk>((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
#pragma unroll
  for (int step = 0; step < kStepsQk; ++step) {
    unsigned k[4];
    load_matrix_x4(k, advanced(k_lane, 2 * step));
    const FragmentA a = q_fragments.get(q_warp, lane, step);
    FragmentD* sums = step % 2 == 0 ? scores : odd;
    mma_16x8x16<dtype_q>(sums[0], a, k[0], k[1]);
    mma_16x8x16<dtype_q>(sums[1], a, k[2], k[3]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    scores[0].r[i] += odd[0].r[i];
    scores[1].r[i] += odd[1].r[i];
  }
}

__device__ inline void mask_scores(FragmentD (&scores)[2], const KvRange (&visible)[2], int token, int lane) {
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = token + tile * 8 + (lane & 3) * 2 + (i & 1);
      if (!visible[i >> 1].holds(column)) scores[tile].r[i] = negative_infinity();
    }
  }
}

// Takes the slice into the running maximum and sum; returns P as the left operand of P V.
__device__ inline FragmentA softmax(RowState& state, FragmentD (&scores)[2], float scale_log2) {
  float correction[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float newest = lanes_max<4>(fmaxf(fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]),
                                            fmaxf(scores[1].r[2 * half], scores[1].r[2 * half + 1])));
    const float maximum_now = fmaxf(state.maximum[half], newest * scale_log2);
    // A row that has seen no token yet: any finite offset makes all its weights 0 rather than NaN.
    const float offset = maximum_now == negative_infinity() ? 0.0f : maximum_now;
    correction[half] = exp2_approx(state.maximum[half] - offset);
    state.maximum[half] = maximum_now;
    float sum = 0.0f;
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[tile].r[i] = exp2_approx(scores[tile].r[i] * scale_log2 - offset);
        sum += scores[tile].r[i];
      }
    }
    state.sum[half] = state.sum[half] * correction[half] + sum;
  }
  // The maximum settles after a few slices; then the accumulators need no scaling.
  if (__any_sync(0xffffffffu, correction[0] != 1.0f || correction[1] != 1.0f)) {
#pragma unroll
    for (int tile = 0; tile < kTilesV; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        state.output[tile].r[i] *= correction[i >> 1];
    }
  }
  FragmentA weights;
  weights.r[0] = pack2<dtype_kv>(scores[0].r[0], scores[0].r[1]);
  weights.r[1] = pack2<dtype_kv>(scores[0].r[2], scores[0].r[3]);
  weights.r[2] = pack2<dtype_kv>(scores[1].r[0], scores[1].r[1]);
  weights.r[3] = pack2<dtype_kv>(scores[1].r[2], scores[1].r[3]);
  return weights;
}

__device__ inline void multiply_pv(RowState& state, const FragmentA& weights, SharedAddress v_slice,
                                   int lane) {
  const SharedAddress v_lane = v_slice + swizzled<kRowBytesV>(lane & 15, lane >> 4);
#pragma unroll
  for (int tile = 0; tile < kTilesV; tile += 2) {
    unsigned v[4];
    load_matrix_x4_transposed(v, advanced(v_lane, tile));
    mma_16x8x16<dtype_kv>(state.output[tile], weights, v[0], v[1]);
    mma_16x8x16<dtype_kv>(state.output[tile + 1], weights, v[2], v[3]);
  }
}

}  // namespace cubinet::attention
