// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of `attention_prefill_wgmma` and its fp32 copy. The tensor cores cut the sums of e4m3
// products to about 14 bits, so the output is added to the copy every fold_steps steps and begins
// again with zero.
#include <cubinet/attention_prefill_wgmma/layout.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention_prefill_wgmma {

constexpr int kOutputTiles = head_dim_v / 8;
using Output = FragmentD[kOutputTiles];

// The sum of a thread's outputs that have been folded, every kSteps steps.
template <int kSteps>
class FoldedOutputOf {
 public:
  // Adds the output of the earlier steps, and sets it to zero, if `step` is a multiple of kSteps.
  __device__ void fold(Output& output, int step) {
    if (!__any_sync(kAllLanes, step % kSteps == 0)) return;
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums_[tile].r[i] += output[tile].r[i];
        output[tile].r[i] = 0.0f;
      }
    }
  }

  // Multiplies each of the thread's two rows by a factor.
  __device__ void multiply(const float (&factors)[2]) {
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums_[tile].r[i] *= factors[i / 2];
    }
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
  Output sums_ = {};
};

// Nothing is folded.
template <>
class FoldedOutputOf<0> {
 public:
  __device__ void fold(Output&, int) {}
  __device__ void multiply(const float (&)[2]) {}
  __device__ void add_to(Output&) const {}
};

using FoldedOutput = FoldedOutputOf<fold_steps>;

}  // namespace cubinet::attention_prefill_wgmma
