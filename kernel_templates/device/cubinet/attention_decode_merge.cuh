// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of a split of the templates `attention_decode` and `attention_decode_wgmma`: the warps' results become rows
// of the output.
#include <cubinet/attention_decode_output.cuh>
#include <cubinet/attention_decode_softmax.cuh>

namespace cubinet::attention {

// The shared memory of the ring, used again to bring the warps' results together.
template <bool kColumnsInPairs = kConvertsKv>
class MergeBuffer {
 public:
  __device__ explicit MergeBuffer(SharedAddress memory) : output_(memory) {}

  __device__ void put(const RowState& state, int group_kv, int first_row, int lane) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = group_kv * tile_size_q + first_row + (lane >> 2) + 8 * half;
      const float total = lanes_sum<4>(state.sum[half]);
      if ((lane & 3) == 0) store_shared_floats(extremes(row), state.maximum[half], total);
      put_row<kColumnsInPairs>(state.output, half, output_ + row * (kMergeStride * 4), lane & 3);
    }
  }

  // Where a row's elements go, and what they are relative to and their weights' sum, of a block whose warps share all rows.
  __device__ SharedAddress output(int row) const { return output_ + row * (kMergeStride * 4); }
  __device__ void put_extremes(int row, float maximum, float sum) const {
    store_shared_floats(extremes(row), maximum, sum);
  }

  // Normalised output of one row, 8 elements from element `first` on; returns the base-2 log-sum-exp.
  __device__ float take(float (&values)[8], int row, int first) const {
    float highest = negative_infinity();
#pragma unroll
    for (int w = 0; w < kWarpsKv; ++w)
      highest = fmaxf(highest, load_shared_float(extremes(w * tile_size_q + row)));
    const float offset = highest == negative_infinity() ? 0.0f : highest;
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarpsKv; ++w) {
      const int index = w * tile_size_q + row;
      const float weight = exp2_approx(load_shared_float(extremes(index)) - offset);
      total += weight * load_shared_float(extremes(index) + 4);
      const SharedAddress source = output_ + index * (kMergeStride * 4) + first * 4;
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
  // Where a row's maximum lies; its sum follows.
  __device__ SharedAddress extremes(int row) const {
    return output_ + kWarpsKv * tile_size_q * (kMergeStride * 4) + row * 8;
  }

  SharedAddress output_;  // [kWarpsKv][tile_size_q][kMergeStride] floats
};

}  // namespace cubinet::attention
