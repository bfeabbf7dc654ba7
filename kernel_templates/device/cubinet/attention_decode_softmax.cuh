// SPDX-License-Identifier: Apache-2.0
#pragma once
// The softmax of decode attention: one warp, 16 rows, kSlice tokens at a time. Of the template besides: Product, the
// type that is multiplied, and kTilesV, tiles of 8 columns of the output that a warp has.
#include <cubinet/attention_decode_rows.cuh>
#include <cubinet/mma.cuh>

namespace cubinet::attention {

// The running softmax and output of one warp: 16 rows, of which a lane holds rows lane/4 and lane/4 + 8.
struct RowState {
  // Of the base-2 logits, each rounded to a float, or less by up to kOffsetSlack: weights, corrections and the
  // log-sum-exp are relative to this very number. Worked out anew from a raw maximum, the product would be fused with the subtraction
  // that follows and leave its rounding error behind in every slice.
  float maximum[2];
  float sum[2];  // this lane's share
  FragmentD output[kTilesV];
};

constexpr int kTilesS = kSlice / 8;

// Bounds logits by a tanh of the base-2 exponential: tanh.approx is 2^-11 off, which a bound of 50 makes
// 0.02.
template <bool kCaps>
class SoftCap {
 public:
  // From here on `scale_log2` is that of the bounded logits.
  __device__ SoftCap(const AttentionDecodeParameters& p, float (&scale_log2)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      twice_[half] = 2.0f * scale_log2[half] / p.soft_cap;
      scale_log2[half] = p.soft_cap * kLog2E;
    }
  }

  __device__ void apply(FragmentD (&scores)[kTilesS]) const {
#pragma unroll
    for (int tile = 0; tile < kTilesS; ++tile) {
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
  __device__ SoftCap(const AttentionDecodeParameters&, float (&)[2]) {}
  __device__ void apply(FragmentD (&)[kTilesS]) const {}
  __device__ float bounded(float score, int) const { return score; }
};

// Where the bits of a row lie that say which of its sequence's query tokens it sees.
__device__ inline GlobalAddress draft_bits(const AttentionDecodeParameters& p, const Sequence& sequence,
                                           const PackedRows& rows, int row) {
  const long long token = sequence.q_first + rows.token(row);
  return p.mask + 4 * token * p.mask_words;
}
// `draft`: which query token, negative before the first.
__device__ inline bool draft_hides(GlobalAddress bits, int draft) {
  return draft >= 0 && (load_global_constant_int(bits + 4 * (draft / 32)) >> draft % 32 & 1) == 0;
}

// The same of each of a lane's two rows.
class DraftMask {
 public:
  __device__ DraftMask(const AttentionDecodeParameters& p, const Sequence& sequence, const PackedRows& rows,
                       int row)
      : first_(sequence.length - sequence.q_len) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      bits_[half] = draft_bits(p, sequence, rows, row + 8 * half);
  }

  // Of a token of the sequence.
  __device__ bool hides(int half, int token) const { return draft_hides(bits_[half], token - first_); }

 private:
  int first_;
  GlobalAddress bits_[2];
};

__device__ inline void mask_scores(FragmentD (&scores)[kTilesS], const KvRange (&visible)[2],
                                   const DraftMask& draft_mask, int token, int lane) {
#pragma unroll
  for (int tile = 0; tile < kTilesS; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = token + tile * 8 + (lane & 3) * 2 + (i & 1);
      bool seen = visible[i >> 1].holds(column);
      if constexpr (kCustomMask) seen = seen && !draft_mask.hides(i >> 1, column);
      if (!seen) scores[tile].r[i] = negative_infinity();
    }
  }
}

// P of a slice as the left operand of P V.
struct Weights {
  FragmentA steps[kSlice / 16];
};

// What the output so far has to be multiplied by, of each of the lane's rows.
struct Correction {
  bool needed = false;  // by any row of the warp
  float of_half[2] = {1.0f, 1.0f};
};

// Takes the slice into the running maximum and sum, and makes its logits weights. `scale_log2` is of each of the lane's
// rows.
__device__ inline Correction weigh(RowState& state, FragmentD (&scores)[kTilesS], const float (&scale_log2)[2]) {
  float newest[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    newest[half] = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
    for (int tile = 1; tile < kTilesS; ++tile)
      newest[half] = fmaxf(newest[half], fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
    newest[half] *= scale_log2[half];
  }
  Correction correction;
  const bool rises = newest[0] > state.maximum[0] + kOffsetSlack || newest[1] > state.maximum[1] + kOffsetSlack;
  if (kOffsetSlack == 0.0f || __any_sync(0xffffffffu, rises)) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float maximum_now = fmaxf(state.maximum[half], lanes_max<4>(newest[half]));
      correction.of_half[half] =
          exp2_approx(state.maximum[half] - (maximum_now == negative_infinity() ? 0.0f : maximum_now));
      state.maximum[half] = maximum_now;
    }
    correction.needed = kOffsetSlack != 0.0f || __any_sync(0xffffffffu, rises);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    // A row that has seen no token yet: any finite offset makes all its weights 0 rather than NaN.
    const float offset = state.maximum[half] == negative_infinity() ? 0.0f : state.maximum[half];
    float sum = 0.0f;
#pragma unroll
    for (int tile = 0; tile < kTilesS; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[tile].r[i] = exp2_approx(scores[tile].r[i] * scale_log2[half] - offset);
        sum += scores[tile].r[i];
      }
    }
    state.sum[half] = state.sum[half] * correction.of_half[half] + sum;
  }
  return correction;
}

__device__ inline void correct_output(RowState& state, const Correction& correction) {
  if (correction.needed) {
#pragma unroll
    for (int tile = 0; tile < kTilesV; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        state.output[tile].r[i] *= correction.of_half[i >> 1];
    }
  }
}

__device__ inline Weights packed(const FragmentD (&scores)[kTilesS]) {
  Weights weights;
#pragma unroll
  for (int step = 0; step < kSlice / 16; ++step) {
    const FragmentD* const two = scores + 2 * step;
    weights.steps[step].r[0] = pack2<Product>(two[0].r[0], two[0].r[1]);
    weights.steps[step].r[1] = pack2<Product>(two[0].r[2], two[0].r[3]);
    weights.steps[step].r[2] = pack2<Product>(two[1].r[0], two[1].r[1]);
    weights.steps[step].r[3] = pack2<Product>(two[1].r[2], two[1].r[3]);
  }
  return weights;
}

// All of it, where no product is under way.
__device__ inline Weights softmax(RowState& state, FragmentD (&scores)[kTilesS], const float (&scale_log2)[2]) {
  const Correction correction = weigh(state, scores, scale_log2);
  correct_output(state, correction);
  return packed(scores);
}

// One of a lane's two rows to where rows are stored from, as floats. Of elements of eight bits, of which ldmatrix brings
// both columns side by side, even columns make one tile and odd ones the next.
template <bool kColumnsInPairs = kConvertsKv>
__device__ inline void put_row(const FragmentD (&output)[kTilesV], int half, SharedAddress target, int column) {
  if constexpr (kColumnsInPairs) {
#pragma unroll
    for (int tile = 0; tile < kTilesV; tile += 2) {
      const float* const even = output[tile].r + 2 * half;
      const float* const odd = output[tile + 1].r + 2 * half;
      store_shared_floats_4(target + tile * 32 + column * 16, even[0], odd[0], even[1], odd[1]);
    }
  } else {
#pragma unroll
    for (int tile = 0; tile < kTilesV; ++tile)
      store_shared_floats(target + tile * 32 + column * 8, output[tile].r[2 * half],
                          output[tile].r[2 * half + 1]);
  }
}

}  // namespace cubinet::attention
