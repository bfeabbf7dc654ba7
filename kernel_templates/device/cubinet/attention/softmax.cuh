// SPDX-License-Identifier: Apache-2.0
#pragma once
// The online softmax of one warp: 16 rows, one slice of tokens at a time.
//
// Shape: kSlice   tokens of a slice
//        kTilesV  tiles of 8 columns of the output that a warp accumulates
//        Product, kOffsetSlack, kInvariant
#include <cubinet/attention/invariant.cuh>
#include <cubinet/attention/masks.cuh>
#include <cubinet/mma.cuh>

namespace cubinet::attention {

// The running softmax and output of one warp. A lane holds rows lane/4 and lane/4 + 8 of 16.
template <class Shape>
struct RowStateOf {
  // The largest base-2 logit of each row, rounded to a float; less by up to kOffsetSlack. Weights,
  // corrections and LSEs use exactly this number. If it were computed again from a raw maximum, the
  // product would be fused with the subtraction and would leave its rounding error in every slice.
  float maximum[2];
  float sum[2];  // this lane's share
  FragmentD output[Shape::kTilesV];
};

// The softmax weights of a slice, as the left operand of P V.
template <class Shape>
struct WeightsOf {
  FragmentA steps[Shape::kSlice / 16];
};

// The factors that correct the accumulated output, one for each of a lane's rows.
struct Correction {
  bool needed = false;  // for any row of the warp
  float of_half[2] = {1.0f, 1.0f};
};

// Updates the running maximum and sum with a slice, and replaces the logits of the slice by softmax
// weights. `scale_log2` converts the logits of each of the lane's rows to base 2. All lanes of the
// warp must call it.
template <class Shape, int kTiles>
__device__ inline Correction update_softmax(RowStateOf<Shape>& state, FragmentD (&scores)[kTiles],
                                            const float (&scale_log2)[2]) {
  constexpr float kSlack = Shape::kOffsetSlack;
  float newest[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    newest[half] = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
    for (int tile = 1; tile < kTiles; ++tile)
      newest[half] = fmaxf(newest[half], fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
    newest[half] *= scale_log2[half];
  }
  Correction correction;
  const bool rises = newest[0] > state.maximum[0] + kSlack || newest[1] > state.maximum[1] + kSlack;
  if (kSlack == 0.0f || __any_sync(kAllLanes, rises)) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float maximum_now = fmaxf(state.maximum[half], lanes_max<4>(newest[half]));
      correction.of_half[half] =
          exp2_approx(state.maximum[half] - (maximum_now == negative_infinity() ? 0.0f : maximum_now));
      state.maximum[half] = maximum_now;
    }
    correction.needed = kSlack != 0.0f || __any_sync(kAllLanes, rises);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    // Any finite offset makes all weights 0, and not NaN, if the row has seen no token yet.
    const float offset = state.maximum[half] == negative_infinity() ? 0.0f : state.maximum[half];
    float sum = 0.0f;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[tile].r[i] = exp2_approx(scores[tile].r[i] * scale_log2[half] - offset);
        sum += scores[tile].r[i];
      }
    }
    state.sum[half] = state.sum[half] * correction.of_half[half] + sum;
  }
  return correction;
}

// Returns the largest logit of one of a lane's rows. All lanes of the warp must call it.
template <int kTiles>
__device__ inline float largest_logit(const FragmentD (&scores)[kTiles], int half) {
  float largest = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
  for (int tile = 1; tile < kTiles; ++tile)
    largest = fmaxf(largest, fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
  return lanes_max<4>(largest);
}

// Updates the maximum of a row with the largest raw logit of a step, with invariant numerics.
// Returns the correction of the sums and the output of the earlier maximum.
__device__ inline float raise_invariant_maximum(float& maximum, float largest, float scale_log2) {
  const float newest = fmaxf(maximum, __fmul_rn(largest, scale_log2));
  const float correction = invariant_weight(maximum, weight_offset(newest));
  maximum = newest;
  return correction;
}

// Does the same for one of a lane's rows. All lanes of the warp must call it.
template <int kTiles>
__device__ inline float update_invariant_maximum(float& maximum, const FragmentD (&scores)[kTiles], int half,
                                                 float scale_log2) {
  static_assert(8 * kTiles == kInvariantStep, "a maximum belongs to a whole step");
  return raise_invariant_maximum(maximum, largest_logit(scores, half), scale_log2);
}

// Replaces the logits of a row by softmax weights, which are relative to its updated maximum.
template <int kTiles>
__device__ inline void weigh_invariant_logits(FragmentD (&scores)[kTiles], int half, float scale_log2,
                                              float maximum) {
  const float offset = weight_offset(maximum);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; ++i)
      scores[tile].r[i] = invariant_weight(__fmul_rn(scores[tile].r[i], scale_log2), offset);
  }
}

// Adds the weights of a whole step to the lane's corrected share of the sum of a row.
template <int kTiles>
__device__ inline void add_invariant_weights(const FragmentD (&weights)[kTiles], int half, float correction,
                                             float& sum) {
  sum = __fmul_rn(sum, correction);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; ++i)
      sum = __fadd_rn(sum, weights[tile].r[i]);
  }
}

// Replaces the logits of a row by softmax weights, which are relative to its updated maximum, and
// adds each at once to the lane's corrected share of its sum.
template <int kTiles>
__device__ inline void weigh_invariant_row(FragmentD (&scores)[kTiles], int half, float scale_log2,
                                           float maximum, float correction, float& sum) {
  const float offset = weight_offset(maximum);
  sum = __fmul_rn(sum, correction);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; ++i) {
      scores[tile].r[i] = invariant_weight(__fmul_rn(scores[tile].r[i], scale_log2), offset);
      sum = __fadd_rn(sum, scores[tile].r[i]);
    }
  }
}

// Returns whether the output of any row of the warp needs a correction: one by 1 changes no bit.
__device__ inline bool corrects_any_row(const Correction& correction) {
  return __any_sync(kAllLanes, correction.of_half[0] != 1.0f || correction.of_half[1] != 1.0f) != 0;
}

// Does the same as update_softmax() with invariant numerics. `scores` are the logits of a step.
template <class Shape, int kTiles>
__device__ inline Correction update_invariant_softmax(RowStateOf<Shape>& state, FragmentD (&scores)[kTiles],
                                                      const float (&scale_log2)[2]) {
  Correction correction;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    correction.of_half[half] = update_invariant_maximum(state.maximum[half], scores, half, scale_log2[half]);
    weigh_invariant_row(scores, half, scale_log2[half], state.maximum[half], correction.of_half[half],
                        state.sum[half]);
  }
  correction.needed = corrects_any_row(correction);
  return correction;
}

template <class Shape>
__device__ inline void correct_output(RowStateOf<Shape>& state, const Correction& correction) {
  if (correction.needed) {
#pragma unroll
    for (int tile = 0; tile < Shape::kTilesV; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        state.output[tile].r[i] *= correction.of_half[i >> 1];
    }
  }
}

template <class Shape>
__device__ inline WeightsOf<Shape> packed(const FragmentD (&scores)[Shape::kSlice / 8]) {
  using Product = typename Shape::Product;
  WeightsOf<Shape> weights;
#pragma unroll
  for (int step = 0; step < Shape::kSlice / 16; ++step) {
    const FragmentD* const two = scores + 2 * step;
    weights.steps[step].r[0] = pack2<Product>(two[0].r[0], two[0].r[1]);
    weights.steps[step].r[1] = pack2<Product>(two[0].r[2], two[0].r[3]);
    weights.steps[step].r[2] = pack2<Product>(two[1].r[0], two[1].r[1]);
    weights.steps[step].r[3] = pack2<Product>(two[1].r[2], two[1].r[3]);
  }
  return weights;
}

// Updates the softmax, corrects the output and returns the weights of the slice. REQUIRES: no
// product with the output is in flight.
template <class Shape>
__device__ inline WeightsOf<Shape> softmax(RowStateOf<Shape>& state, FragmentD (&scores)[Shape::kSlice / 8],
                                           const float (&scale_log2)[2]) {
  Correction correction;
  if constexpr (Shape::kInvariant) {
    correction = update_invariant_softmax(state, scores, scale_log2);
  } else {
    correction = update_softmax(state, scores, scale_log2);
  }
  correct_output(state, correction);
  return packed<Shape>(scores);
}

// Stores one of a lane's two rows as floats. If `kColumnsInPairs` is true, even columns are in one
// tile and odd columns in the next, because ldmatrix loads both columns of 8-bit elements together.
template <bool kColumnsInPairs, int kTiles>
__device__ inline void store_row_to_shared(const FragmentD (&output)[kTiles], int half, SharedAddress target,
                                           int column) {
  if constexpr (kColumnsInPairs) {
#pragma unroll
    for (int tile = 0; tile < kTiles; tile += 2) {
      const float* const even = output[tile].r + 2 * half;
      const float* const odd = output[tile + 1].r + 2 * half;
      store_shared_floats_4(target + tile * 32 + column * 16, even[0], odd[0], even[1], odd[1]);
    }
  } else {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
      store_shared_floats(target + tile * 32 + column * 8, output[tile].r[2 * half],
                          output[tile].r[2 * half + 1]);
  }
}

}  // namespace cubinet::attention
