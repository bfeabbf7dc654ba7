// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arithmetic of the template `attention_decode`: one warp, 16 rows, one slice of 16 tokens at a time.
#include <cubinet/attention_decode_rows.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

__device__ inline FragmentA load_q_fragment(SharedAddress q_warp, int lane, int step) {
  FragmentA a;
  load_matrix_x4(a.r, advanced(q_warp + swizzled<kRowBytesQ>(lane & 15, lane >> 4), 2 * step));
  return a;
}

// Q of one warp: in registers where they hold it, else read again for each slice.
class QFragments {
 public:
  __device__ QFragments(SharedAddress q_warp, int lane) {
    if constexpr (kQInRegisters) {
#pragma unroll
      for (int step = 0; step < kStepsQk; ++step)
        kept_[step] = load_q_fragment(q_warp, lane, step);
    }
  }

  __device__ FragmentA get(SharedAddress q_warp, int lane, int step) const {
    if constexpr (kQInRegisters) {
      return kept_[step];
    } else {
      return load_q_fragment(q_warp, lane, step);
    }
  }

 private:
  FragmentA kept_[kQInRegisters ? kStepsQk : 1];
};

// The running softmax and output of one warp: 16 rows, of which a lane holds rows lane/4 and lane/4 + 8.
struct RowState {
  // Of the base-2 logits, each rounded to a float: weights, corrections and the log-sum-exp are relative to
  // this very number. Worked out anew from a raw maximum, the product would be fused with the subtraction
  // that follows and leave its rounding error behind in every slice.
  float maximum[2];
  float sum[2];  // this lane's share
  FragmentD output[kTilesV];
};

constexpr int kTilesS = kSlice / 8;

// Even and odd steps have sums of their own where there are few tiles: the chain of dependent products is
// half as long.
constexpr int kChains = kTilesS == 2 ? 2 : 1;

// Raw logits of 16 rows and the slice's tokens, as tiles of 16x8.
__device__ inline void multiply_qk(FragmentD (&scores)[kTilesS], const QFragments& q_fragments,
                                   SharedAddress q_warp, SharedAddress k_slice, int lane) {
  FragmentD sums[kChains][kTilesS] = {};
  const SharedAddress k_lane =
      k_slice + swizzled<kRowBytesK>((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  // What one ldmatrix brings of 16 tokens is a step of 16 columns, of elements of eight bits two.
  constexpr int kStepsAtOnce = kConvertsKv ? 2 : 1;
#pragma unroll
  for (int first = 0; first < kStepsQk; first += kStepsAtOnce) {
    FragmentA a[kStepsAtOnce];
#pragma unroll
    for (int i = 0; i < kStepsAtOnce; ++i)
      a[i] = q_fragments.get(q_warp, lane, first + i);
#pragma unroll
    for (int tile = 0; tile < kTilesS; tile += 2) {
      unsigned k[4];
      load_matrix_x4(k, advanced(k_lane, 2 * first / kStepsAtOnce) + tile * 8 * kRowBytesK);
#pragma unroll
      for (int i = 0; i < kStepsAtOnce; ++i) {
        FragmentD* const target = sums[(first + i) % kChains] + tile;
        if constexpr (kConvertsKv) {
          const Fp16Pairs left = unpack4_e4m3(k[i]);
          const Fp16Pairs right = unpack4_e4m3(k[2 + i]);
          mma_16x8x16<Product>(target[0], a[i], left.low, left.high);
          mma_16x8x16<Product>(target[1], a[i], right.low, right.high);
        } else {
          mma_16x8x16<Product>(target[0], a[i], k[0], k[1]);
          mma_16x8x16<Product>(target[1], a[i], k[2], k[3]);
        }
      }
    }
  }
#pragma unroll
  for (int tile = 0; tile < kTilesS; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      scores[tile].r[i] =
          kChains == 2 ? sums[0][tile].r[i] + sums[kChains - 1][tile].r[i] : sums[0][tile].r[i];
  }
}

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
      for (int i = 0; i < 4; ++i) {
        const float power = exp2_approx(scores[tile].r[i] * twice_[i >> 1]);
        scores[tile].r[i] = fmaf(-2.0f, reciprocal_approx(power + 1.0f), 1.0f);
      }
    }
  }

 private:
  float twice_[2];
};

template <>
class SoftCap<false> {
 public:
  __device__ SoftCap(const AttentionDecodeParameters&, float (&)[2]) {}
  __device__ void apply(FragmentD (&)[kTilesS]) const {}
};

// Which of its sequence's query tokens each of a lane's two rows sees, where bits say it.
class DraftMask {
 public:
  __device__ DraftMask(const AttentionDecodeParameters& p, const Sequence& sequence, const PackedRows& rows,
                       int row)
      : first_(sequence.length - sequence.q_len) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long token = sequence.q_first + rows.token(row + 8 * half);
      bits_[half] = p.mask + 4 * token * p.mask_words;
    }
  }

  // Of a token of the sequence.
  __device__ bool hides(int half, int token) const {
    const int draft = token - first_;
    return draft >= 0 && (load_global_constant_int(bits_[half] + 4 * (draft / 32)) >> draft % 32 & 1) == 0;
  }

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

// Takes the slice into the running maximum and sum. `scale_log2` is of each of the lane's rows.
__device__ inline Weights softmax(RowState& state, FragmentD (&scores)[kTilesS],
                                  const float (&scale_log2)[2]) {
  float correction[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float newest = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
    for (int tile = 1; tile < kTilesS; ++tile)
      newest = fmaxf(newest, fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
    const float maximum_now = fmaxf(state.maximum[half], lanes_max<4>(newest) * scale_log2[half]);
    // A row that has seen no token yet: any finite offset makes all its weights 0 rather than NaN.
    const float offset = maximum_now == negative_infinity() ? 0.0f : maximum_now;
    correction[half] = exp2_approx(state.maximum[half] - offset);
    state.maximum[half] = maximum_now;
    float sum = 0.0f;
#pragma unroll
    for (int tile = 0; tile < kTilesS; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[tile].r[i] = exp2_approx(scores[tile].r[i] * scale_log2[half] - offset);
        sum += scores[tile].r[i];
      }
    }
    state.sum[half] = state.sum[half] * correction[half] + sum;
  }
  // The maximum settles after a few slices; then the accumulators need no scaling.
  if (__any_sync(0xffffffffu, correction[0] != 1.0f || correction[1] != 1.0f)) {
#pragma unroll
    for (int tile = 0; tile < kTilesV; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        state.output[tile].r[i] *= correction[i >> 1];
    }
  }
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

// Of elements of eight bits, ldmatrix takes two columns for one and brings both of a token side by side: of
// 16 columns the even ones make the first tile of the output, the odd ones the second.
__device__ inline void multiply_pv(RowState& state, const Weights& weights, SharedAddress v_slice, int lane) {
  const SharedAddress v_lane = v_slice + swizzled<kRowBytesV>(lane & 15, lane >> 4);
  constexpr int kTilesAtOnce = kConvertsKv ? 4 : 2;
#pragma unroll
  for (int step = 0; step < kSlice / 16; ++step) {
    const FragmentA& a = weights.steps[step];
#pragma unroll
    for (int tile = 0; tile < kTilesV; tile += kTilesAtOnce) {
      FragmentD* const output = state.output + tile;
      unsigned v[4];
      load_matrix_x4_transposed(v, advanced(v_lane, 2 * tile / kTilesAtOnce) + step * 16 * kRowBytesV);
      if constexpr (kConvertsKv) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          // Bytes 0 and 2 are one column's.
          const Fp16Pairs older = unpack4_e4m3(__byte_perm(v[2 * i], 0, 0x3120));
          const Fp16Pairs newer = unpack4_e4m3(__byte_perm(v[2 * i + 1], 0, 0x3120));
          mma_16x8x16<Product>(output[2 * i], a, older.low, newer.low);
          mma_16x8x16<Product>(output[2 * i + 1], a, older.high, newer.high);
        }
      } else {
        mma_16x8x16<Product>(output[0], a, v[0], v[1]);
        mma_16x8x16<Product>(output[1], a, v[2], v[3]);
      }
    }
  }
}

}  // namespace cubinet::attention
