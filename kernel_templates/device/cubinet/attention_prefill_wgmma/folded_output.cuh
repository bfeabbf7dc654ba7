// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of `attention_prefill_wgmma` and its fp32 copy. The tensor cores cut the sums of e4m3
// products to about 14 bits, so the output is added to the copy every fold_steps steps and begins
// again.
#include <cubinet/attention_prefill_wgmma/layout.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention_prefill_wgmma {

constexpr int kOutputTiles = head_dim_v / 8;
using Output = FragmentD[kOutputTiles];

// Multiplies one of a thread's two rows by a factor.
__device__ inline void multiply_row(Output& output, int half, float factor) {
#pragma unroll
  for (int tile = 0; tile < kOutputTiles; ++tile) {
#pragma unroll
    for (int i = 2 * half; i < 2 * half + 2; ++i)
      output[tile].r[i] *= factor;
  }
}

// The sum of a thread's outputs that have been folded, every kSteps steps.
template <int kSteps>
class FoldedOutputOf {
 public:
  // Returns whether the output begins again with the product of a step, whose first part must then
  // not be added to it.
  __device__ static bool begins_at(int step) {
    return __any_sync(kAllLanes, step % kSteps == 0);
  }

  // Adds the output of the steps before `step` if it begins again there.
  __device__ void fold(const Output& output, int step) {
    if (begins_at(step)) add(output);
  }

  // Multiplies one of the thread's two rows by a factor.
  __device__ void multiply(int half, float factor) {
    multiply_row(sums_, half, factor);
  }

  // Adds the sum to the output of the last steps.
  __device__ void add_to(Output& output) const {
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        output[tile].r[i] += sums_[tile].r[i];
    }
  }

 private:
  __device__ void add(const Output& output) {
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums_[tile].r[i] += output[tile].r[i];
    }
  }

  Output sums_ = {};
};

// Nothing is folded.
template <>
class FoldedOutputOf<0> {
 public:
  __device__ static bool begins_at(int) {
    return false;
  }
  __device__ void fold(const Output&, int) {}
  __device__ void multiply(int, float) {}
  __device__ void add_to(Output&) const {}
};

using FoldedOutput = FoldedOutputOf<fold_steps>;

}  // namespace cubinet::attention_prefill_wgmma
