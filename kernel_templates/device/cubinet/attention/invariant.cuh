// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of invariant numerics (docs/arithmetic.md): a row has the same bits in every
// kernel that follows it. Every fp32 operation whose result a compiler could change is an
// intrinsic, because compilers contract products and sums differently in different kernels.
#include <cubinet/attention/invariant_sizes.cuh>
#include <cubinet/math.cuh>

namespace cubinet::attention {

// Returns the offset that is subtracted from a row's logits. Any finite offset makes all weights 0,
// and not NaN, if the row has seen no token yet.
__device__ inline float weight_offset(float maximum) {
  return maximum == negative_infinity() ? 0.0f : maximum;
}

// Returns the weight of a score, which `scale_log2` converts to a base-2 logit: +0 for -infinity.
__device__ inline float invariant_weight(float score, float scale_log2, float offset) {
  return exp2_approx(__fmaf_rn(score, scale_log2, -offset));
}

// Returns the factor that corrects what is relative to an earlier maximum: +0 for -infinity.
__device__ inline float invariant_correction(float maximum, float offset) {
  return exp2_approx(__fsub_rn(maximum, offset));
}

// Returns the sum of a row's four partial sums, which adjacent lanes hold. All lanes of the warp
// must call it.
__device__ inline float invariant_row_sum(float sum) {
  sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, 1));
  return __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, 2));
}

// The factors of one fold: a value of the folded segments is kept by `kept`, and that of the new
// segment is added with the factor `added`.
struct FoldFactors {
  float kept = 1.0f;
  float added = 0.0f;

  __device__ float apply(float folded, float segment) const {
    return __fmaf_rn(segment, added, __fmul_rn(folded, kept));
  }
};

// The maximum and the sum of the segments of a row, which are folded in ascending order.
struct RowFold {
  float maximum = negative_infinity();
  float sum = 0.0f;

  // Adds a segment. Returns the factors for the row's output. A segment without a visible token
  // changes nothing, and the first that has one is copied.
  __device__ FoldFactors add(float segment_maximum, float segment_sum) {
    FoldFactors factors;
    if (segment_maximum == negative_infinity()) return factors;
    if (maximum == negative_infinity()) {
      factors = {0.0f, 1.0f};
      sum = segment_sum;
      maximum = segment_maximum;
      return factors;
    }
    const float newest = fmaxf(maximum, segment_maximum);
    factors = {invariant_correction(maximum, newest), invariant_correction(segment_maximum, newest)};
    sum = factors.apply(sum, segment_sum);
    maximum = newest;
    return factors;
  }

  // Adds the sink, a base-2 logit without V, which comes last. Returns the factor for the output.
  __device__ float add_sink(float sink) { return add(sink, 1.0f).kept; }
  // Returns the base-2 log-sum-exp.
  __device__ float lse() const {
    return maximum == negative_infinity() ? maximum : __fadd_rn(maximum, log2_approx(sum));
  }
  // Returns the factor that normalises the output, or 0 if the row sees no token.
  __device__ float normaliser(float output_scale) const {
    return maximum == negative_infinity() ? 0.0f : __fdiv_rn(output_scale, sum);
  }
};

}  // namespace cubinet::attention
