// SPDX-License-Identifier: Apache-2.0
#pragma once
// The output of `attention_prefill_wgmma` and its folded copy. The tensor cores cut the sums of
// e4m3 products to about 14 bits, so the output is added to an fp32 copy every fold_steps steps and
// begins again. With invariant numerics, the copy has the segments before the present one.
#include <cubinet/attention/folded_rows.cuh>
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

// The folded copy of a thread's output: the first tiles of 8 columns in 16 bytes of shared memory
// each, the others in registers. It begins with zeros.
class OutputCopy {
 public:
  __device__ explicit OutputCopy(const SharedLayout& layout)
      : first_(layout.folded() + (threadIdx.x - kWarpgroup) * 16) {
#pragma unroll
    for (int tile = 0; tile < kShared; ++tile)
      store(tile, {});
  }
  __device__ FragmentD load(int tile) const {
    if (tile >= kShared) return tiles_[tile - kShared];
    FragmentD sums;
    load_shared_object(address_of(tile), sums);
    return sums;
  }
  __device__ void store(int tile, const FragmentD& sums) {
    if (tile >= kShared) {
      tiles_[tile - kShared] = sums;
    } else {
      store_shared_floats_4(address_of(tile), sums.r[0], sums.r[1], sums.r[2], sums.r[3]);
    }
  }

 private:
  static constexpr int kShared = kFoldedColumns / 8;

  __device__ SharedAddress address_of(int tile) const {
    return first_ + tile * kConsumers * kWarpgroup * 16;
  }

  SharedAddress first_;
  FragmentD tiles_[maximum(kOutputTiles - kShared, 1)] = {};
};

// The sum of a thread's outputs that have been folded, every kSteps steps.
template <int kSteps>
class FoldedOutputOf {
 public:
  __device__ explicit FoldedOutputOf(const SharedLayout& layout) : sums_(layout) {}

  // Returns whether the output begins again with the product of a step, whose first part must then
  // not be added to it.
  __device__ static bool begins_at(int step) { return __any_sync(kAllLanes, step % kSteps == 0); }

  // Adds the output of the steps before `step` if it begins again there.
  __device__ void fold(const Output& output, int step) {
    if (!begins_at(step)) return;
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile)
      sums_.store(tile, sum(output, tile));
    factors_[0] = 1.0f;
    factors_[1] = 1.0f;
  }

  // Multiplies each of the thread's two rows by a factor, when it is next used.
  __device__ void multiply(const float (&factors)[2]) {
    factors_[0] *= factors[0];
    factors_[1] *= factors[1];
  }

  // Adds the sum to the output of the last steps.
  __device__ void add_to(Output& output) const {
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile)
      output[tile] = sum(output, tile);
  }

 private:
  __device__ FragmentD sum(const Output& output, int tile) const {
    FragmentD sums = sums_.load(tile);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums.r[i] = sums.r[i] * factors_[i / 2] + output[tile].r[i];
    return sums;
  }

  OutputCopy sums_;
  float factors_[2] = {1.0f, 1.0f};
};

// Nothing is folded.
template <>
class FoldedOutputOf<0> {
 public:
  __device__ explicit FoldedOutputOf(const SharedLayout&) {}
  __device__ static bool begins_at(int) { return false; }
  __device__ void fold(const Output&, int) {}
  __device__ void multiply(const float (&)[2]) {}
  __device__ void add_to(Output&) const {}
};

using FoldedOutput = FoldedOutputOf<fold_steps>;

// The segments before the present one, with invariant numerics.
template <bool kFolds>
class FoldedSegmentsOf : public attention::FoldedExtremes {
 public:
  __device__ explicit FoldedSegmentsOf(const SharedLayout& layout) : sums_(layout) {}

  // Adds the output of a segment, with the factors of add_rows(). The next product replaces it.
  __device__ void add_output(const Output& segment, const attention::FoldFactors (&factors)[2]) {
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile)
      sums_.store(tile, sum(segment, tile, factors));
  }
  // Replaces the output of the last segment by that of all.
  __device__ void add_to(Output& segment, const attention::FoldFactors (&factors)[2]) const {
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile)
      segment[tile] = sum(segment, tile, factors);
  }

 private:
  __device__ FragmentD sum(const Output& segment, int tile,
                           const attention::FoldFactors (&factors)[2]) const {
    FragmentD sums = sums_.load(tile);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums.r[i] = factors[i / 2].apply(sums.r[i], segment[tile].r[i]);
    return sums;
  }

  OutputCopy sums_;
};

// Nothing is folded.
template <>
class FoldedSegmentsOf<false> : public attention::FoldedExtremes {
 public:
  __device__ explicit FoldedSegmentsOf(const SharedLayout&) {}
  __device__ void add_output(const Output&, const attention::FoldFactors (&)[2]) {}
  __device__ void add_to(Output&, const attention::FoldFactors (&)[2]) const {}
};

using FoldedSegments = FoldedSegmentsOf<kInvariant>;

}  // namespace cubinet::attention_prefill_wgmma
