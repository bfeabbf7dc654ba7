// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folded segments of a warp's rows, with invariant numerics (docs/arithmetic.md).
#include <cubinet/attention/softmax.cuh>
#include <cubinet/attention_prefill/shape.cuh>

namespace cubinet::attention_prefill {

// The result of the segments of a lane's two rows, rows lane/4 and lane/4 + 8 of 16.
struct FoldedRows {
  RowFold rows[2];
  FragmentD output[Shape::kTilesV] = {};

  // Adds the segment of `state`, and makes `state` that of an empty segment. All lanes of the warp
  // must call it.
  __device__ void add(RowStateOf<Shape>& state) {
    FoldFactors factors[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      factors[half] = rows[half].add(state.maximum[half], invariant_row_sum(state.sum[half]));
      state.maximum[half] = negative_infinity();
      state.sum[half] = 0.0f;
    }
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

}  // namespace cubinet::attention_prefill
