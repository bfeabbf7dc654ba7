// SPDX-License-Identifier: Apache-2.0
#pragma once
// The segments of a warp's rows that are folded in registers, with invariant numerics
// (docs/arithmetic.md).
//
// Shape: kTilesV  tiles of 8 columns of the output that a warp accumulates
#include <cubinet/attention/softmax.cuh>

namespace cubinet::attention {

// The maxima and sums of the folded segments of a lane's two rows: rows lane/4 and lane/4 + 8 of
// 16.
struct FoldedExtremes {
  RowFold rows[2];

  // Adds the maxima and sums of a segment, and makes them those of an empty segment. `factors` are
  // those of the segment's output, which must be added next. All lanes of the warp must call it.
  __device__ void add_rows(float (&maximum)[2], float (&sum)[2], FoldFactors (&factors)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      factors[half] = rows[half].add(maximum[half], invariant_row_sum(sum[half]));
      maximum[half] = negative_infinity();
      sum[half] = 0.0f;
    }
  }
};

// The folded segments of a lane's two rows.
template <class Shape>
struct FoldedRowsOf : FoldedExtremes {
  FragmentD output[Shape::kTilesV] = {};

  // Adds the segment of `state`, and makes `state` that of an empty segment. All lanes of the warp
  // must call it.
  __device__ void add(RowStateOf<Shape>& state) {
    FoldFactors factors[2];
    add_rows(state.maximum, state.sum, factors);
#pragma unroll
    for (int tile = 0; tile < Shape::kTilesV; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        output[tile].r[i] = factors[i / 2].apply(output[tile].r[i], state.output[tile].r[i]);
        state.output[tile].r[i] = 0.0f;
      }
    }
  }
};

}  // namespace cubinet::attention
