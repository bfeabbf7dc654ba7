// SPDX-License-Identifier: Apache-2.0
#pragma once
// The masks and the soft cap of the logits of one warp, in the fragments of mma_16x8x16.
//
// Shape: kCustomMask, kSlidingWindow
#include <cubinet/attention/rows.cuh>
#include <cubinet/mma.cuh>

namespace cubinet::attention {

// Bounds logits by a tanh, computed with a base-2 exponential. tanh.approx has an error of 2^-11,
// which a bound of 50 would turn into 0.02.
template <bool kCaps>
class SoftCap {
 public:
  // Replaces `scale_log2`, the scales of a lane's two rows, by the scales of the bounded logits.
  template <class Parameters>
  __device__ SoftCap(const Parameters& p, float (&scale_log2)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      twice_[half] = 2.0f * scale_log2[half] / p.soft_cap;
      scale_log2[half] = p.soft_cap * kLog2E;
    }
  }

  template <int kTiles>
  __device__ void apply(FragmentD (&scores)[kTiles]) const {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[tile].r[i] = bounded(scores[tile].r[i], i >> 1);
    }
  }
  __device__ float bounded(float score, int half) const {
    return fmaf(-2.0f, reciprocal_approx(exp2_approx(score * twice_[half]) + 1.0f), 1.0f);
  }

 private:
  float twice_[2];
};

template <>
class SoftCap<false> {
 public:
  template <class Parameters>
  __device__ SoftCap(const Parameters&, float (&)[2]) {}
  template <int kTiles>
  __device__ void apply(FragmentD (&)[kTiles]) const {}
  __device__ float bounded(float score, int) const { return score; }
};

// Returns the address of the custom mask of a row: one bit for each query token of its sequence.
__device__ inline GlobalAddress draft_bits(const AttentionDecodeParameters& p, const Sequence& sequence,
                                           const PackedRows& rows, int row) {
  const long long token = sequence.q_first + rows.token(row);
  return p.mask + 4 * token * p.mask_words;
}
// Returns whether the mask hides query token `draft`. A negative number is a token before the first
// query token, which the mask never hides.
__device__ inline bool draft_hides(GlobalAddress bits, int draft) {
  return draft >= 0 && (load_global_constant_int(bits + 4 * (draft / 32)) >> draft % 32 & 1) == 0;
}

// The custom mask of a lane's two rows.
class DraftMask {
 public:
  __device__ DraftMask(const AttentionDecodeParameters& p, const Sequence& sequence, const PackedRows& rows,
                       int row)
      : first_(sequence.length - sequence.q_len) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      bits_[half] = draft_bits(p, sequence, rows, row + 8 * half);
  }

  // Returns whether a KV token of the sequence is hidden.
  __device__ bool hides(int half, int token) const {
    return draft_hides(bits_[half], token - first_);
  }

 private:
  int first_;
  GlobalAddress bits_[2];
};

// Sets the logits of hidden tokens to -infinity. `visible` and `draft_mask` are those of a lane's
// two rows; `token` is the first token of the slice. `draft_mask` is read for a custom mask.
template <class Shape, class Draft, int kTiles>
__device__ inline void mask_scores(FragmentD (&scores)[kTiles],
                                   const typename VisibleOf<Shape>::Range (&visible)[2],
                                   const Draft& draft_mask, int token, int lane) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = token + tile * 8 + (lane & 3) * 2 + (i & 1);
      bool seen = visible[i >> 1].holds(column);
      if constexpr (Shape::kCustomMask) seen = seen && !draft_mask.hides(i >> 1, column);
      if (!seen) scores[tile].r[i] = negative_infinity();
    }
  }
}

}  // namespace cubinet::attention
