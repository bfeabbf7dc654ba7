// SPDX-License-Identifier: Apache-2.0
#pragma once
// Merges the results of a CTA's groups of warps into the rows of a work item.
//
// Shape: kTileQ, kHeadDimV, kOutputStride
//        kWarpsKv   groups of warps, which have processed different tokens
//        kTilesV
#include <cubinet/attention/softmax.cuh>

namespace cubinet::attention {

// The results of all groups in shared memory, which reuses the memory of the KV ring. A barrier
// must separate the last use of the ring, the stores and the loads.
template <class Shape, bool kColumnsInPairs>
class MergeBufferOf {
 public:
  __device__ explicit MergeBufferOf(SharedAddress memory) : output_(memory) {}

  // Stores the result of one warp. `first_row` is its first row in the tile.
  __device__ void store(const RowStateOf<Shape>& state, int group_kv, int first_row, int lane) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = group_kv * Shape::kTileQ + first_row + (lane >> 2) + 8 * half;
      const float total = lanes_sum<4>(state.sum[half]);
      if ((lane & 3) == 0) store_extremes(row, state.maximum[half], total);
      store_row_to_shared<kColumnsInPairs>(state.output, half, output(row), lane & 3);
    }
  }

  // Returns the address of a row's elements. CTAs whose warps share all rows store the elements,
  // the maximum and the sum of a row with this and store_extremes().
  __device__ SharedAddress output(int row) const {
    return output_ + row * (Shape::kOutputStride * 4);
  }
  __device__ void store_extremes(int row, float maximum, float sum) const {
    store_shared_floats(extremes(row), maximum, sum);
  }

  // Loads 8 normalised elements of a row, starting at element `first`. Returns the base-2 LSE of
  // the row.
  __device__ float load(float (&values)[8], int row, int first) const {
    float highest = negative_infinity();
#pragma unroll
    for (int w = 0; w < Shape::kWarpsKv; ++w)
      highest = fmaxf(highest, load_shared_float(extremes(w * Shape::kTileQ + row)));
    const float offset = highest == negative_infinity() ? 0.0f : highest;
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] = 0.0f;
#pragma unroll
    for (int w = 0; w < Shape::kWarpsKv; ++w) {
      const int index = w * Shape::kTileQ + row;
      const float weight = exp2_approx(load_shared_float(extremes(index)) - offset);
      total += weight * load_shared_float(extremes(index) + 4);
      const SharedAddress source = output(index) + first * 4;
      float part[8];
      Vector16<fp32>::unpack(load_shared_16(source), part);
      Vector16<fp32>::unpack(load_shared_16(source + 16), part + 4);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        values[i] += weight * part[i];
    }
    const float scale = total != 0.0f ? reciprocal_approx(total) : 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] *= scale;
    return total != 0.0f ? offset + log2_approx(total) : negative_infinity();
  }

 private:
  // Returns the address of the maximum of a row; its sum follows.
  __device__ SharedAddress extremes(int row) const {
    return output_ + Shape::kWarpsKv * Shape::kTileQ * (Shape::kOutputStride * 4) + row * 8;
  }

  SharedAddress output_;  // [kWarpsKv][kTileQ][kOutputStride] floats
};

}  // namespace cubinet::attention
