// SPDX-License-Identifier: Apache-2.0
#pragma once
// The segments of a warp's rows that are folded in registers, with invariant numerics
// (docs/arithmetic.md).
//
// Shape: kTilesV  tiles of 8 columns of the output that a warp accumulates
#include <cubinet/attention/softmax.cuh>

namespace cubinet::attention {

// The folded segments of a lane's two rows, rows lane/4 and lane/4 + 8 of 16.
template <class Shape>
struct FoldedRowsOf {
  RowFold rows[2];
  FragmentD output[Shape::kTilesV] = {};

  // Adds the maxima and sums of a segment, and makes them those of an empty segment. `factors` are
  // those of add_output(), which must be called next. All lanes of the warp must call it.
  __device__ void add_rows(float (&maximum)[2], float (&sum)[2], FoldFactors (&factors)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      factors[half] = rows[half].add(maximum[half], invariant_row_sum(sum[half]));
      maximum[half] = negative_infinity();
      sum[half] = 0.0f;
    }
  }
  // Adds the output of the segment, and makes it zero.
  __device__ void add_output(FragmentD (&segment)[Shape::kTilesV], const FoldFactors (&factors)[2]) {
#pragma unroll
    for (int tile = 0; tile < Shape::kTilesV; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        output[tile].r[i] = factors[i / 2].apply(output[tile].r[i], segment[tile].r[i]);
        segment[tile].r[i] = 0.0f;
      }
    }
  }

  // Adds the segment of `state`, and makes `state` that of an empty segment. All lanes of the warp
  // must call it.
  __device__ void add(RowStateOf<Shape>& state) {
    FoldFactors factors[2];
    add_rows(state.maximum, state.sum, factors);
    add_output(state.output, factors);
  }
};

}  // namespace cubinet::attention
