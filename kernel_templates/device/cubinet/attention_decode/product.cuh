// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of `attention_decode`. One warp multiplies kRowTiles tiles of 16 rows with one slice
// at a time. With invariant numerics, warps with the same rows divide the tokens of a slice for the
// first product and the columns of V for the second one, so each sum remains one chain.
#include <cubinet/attention/softmax.cuh>
#include <cubinet/attention_decode/shape.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention_decode {

__device__ inline FragmentA load_q_fragment(SharedAddress q_warp, int lane, int tile, int step) {
  FragmentA a;
  const SharedAddress row = advanced(q_warp + swizzled<Shape::kRowBytesQ>(lane & 15, lane >> 4), 2 * step);
  load_matrix_x4(a.r, row + tile * 16 * Shape::kRowBytesQ);
  return a;
}

// The Q fragments of one warp: in registers if they fit, otherwise loaded again for each slice.
class QFragments {
 public:
  __device__ QFragments(SharedAddress q_warp, int lane) {
    if constexpr (kQInRegisters) {
#pragma unroll
      for (int step = 0; step < kStepsQk; ++step)
        kept_[step] = load_q_fragment(q_warp, lane, 0, step);
    }
  }

  __device__ FragmentA get(SharedAddress q_warp, int lane, int tile, int step) const {
    if constexpr (kQInRegisters) {
      return kept_[step];
    } else {
      return load_q_fragment(q_warp, lane, tile, step);
    }
  }

 private:
  FragmentA kept_[kQInRegisters ? kStepsQk : 1];
};

// Even and odd steps have separate sums if there are few tiles, which halves the chain of dependent
// products. With invariant numerics a logit is one chain.
constexpr int kTilesS = kSlice / 8;
constexpr int kPartTiles = kTilesS / Shape::kParts;
constexpr int kChains = kTilesS == 2 ? 2 : 1;

// The raw logits of 16 rows and a slice, as 16x8 tiles, and those that one warp computes.
using Scores = FragmentD[kTilesS];
using PartScores = FragmentD[kPartTiles];
using RowState = RowStateOf<Shape>;
using Weights = WeightsOf<Shape>;

// Computes the logits of `kTiles` * 8 tokens, which start at `k_slice`.
template <int kTiles>
__device__ inline void multiply_qk(FragmentD (&scores)[kRowTiles][kTiles], const QFragments& q_fragments,
                                   SharedAddress q_warp, SharedAddress k_slice, int lane) {
  FragmentD sums[kRowTiles][kChains][kTiles] = {};
  const SharedAddress k_lane =
      k_slice + swizzled<Shape::kRowBytesK>((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  // One ldmatrix loads 32 bytes of each of 16 tokens: one step of 16-bit elements (16 columns), or
  // two of 8-bit elements.
  constexpr int kStepsAtOnce = kConvertsKv ? 2 : 1;
#pragma unroll(kRowTiles == 1 ? kStepsQk : 2)
  for (int first = 0; first < kStepsQk; first += kStepsAtOnce) {
    FragmentA a[kRowTiles][kStepsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowTiles * kStepsAtOnce; ++i)
      a[i / kStepsAtOnce][i % kStepsAtOnce] =
          q_fragments.get(q_warp, lane, i / kStepsAtOnce, first + i % kStepsAtOnce);
#pragma unroll
    for (int tile = 0; tile < kTiles; tile += 2) {
      unsigned k[4];
      load_matrix_x4(k, advanced(k_lane, 2 * first / kStepsAtOnce) + tile * 8 * Shape::kRowBytesK);
#pragma unroll
      for (int i = 0; i < kStepsAtOnce; ++i) {
        Fp16Pairs left{k[0], k[1]};
        Fp16Pairs right{k[2], k[3]};
        if constexpr (kConvertsKv) {
          left = unpack4_e4m3(k[i]);
          right = unpack4_e4m3(k[2 + i]);
        }
#pragma unroll
        for (int rows = 0; rows < kRowTiles; ++rows) {
          FragmentD* const target = sums[rows][(first + i) % kChains] + tile;
          mma_16x8x16<Product>(target[0], a[rows][i], left.low, left.high);
          mma_16x8x16<Product>(target[1], a[rows][i], right.low, right.high);
        }
      }
    }
  }
#pragma unroll
  for (int rows = 0; rows < kRowTiles; ++rows) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float sum = sums[rows][0][tile].r[i];
        scores[rows][tile].r[i] = kChains == 2 ? sum + sums[rows][kChains - 1][tile].r[i] : sum;
      }
    }
  }
}

// The part of a step that one warp prepares for the warps with the same rows, with invariant
// numerics: the largest logits and the weights of its tokens, of kAtOnce steps. A barrier between
// these warps must separate a store from the loads, and the loads from the next store.
class SharedStep {
 public:
  // `memory` has kAtOnce * kStepBytes for each row of the tile; `part` is the index of this warp
  // among those with the same 16 rows.
  __device__ SharedStep(SharedAddress memory, int first_row, int part, int lane)
      : weights_(memory + first_row * kWeightBytes + 16 * lane),
        largest_(memory + tile_size_q * kWeightBytes + (first_row + lane / 4) * kLargestBytes),
        part_(part) {}

  // Stores the largest raw logits of the warp's tokens of a step. All lanes of the warp must call
  // it.
  __device__ void store_largest(int step, const PartScores& scores) const {
    const float largest[2] = {largest_logit(scores, 0), largest_logit(scores, 1)};
    if (threadIdx.x % 4 != 0) return;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      store_shared_float(largest_ + step * kBytes + 8 * half * kLargestBytes + 4 * part_, largest[half]);
  }
  // Returns the largest raw logit of a step, of one of a lane's rows.
  __device__ float largest(int step, int half) const {
    const SharedAddress address = largest_ + step * kBytes + 8 * half * kLargestBytes;
    const float2 first = load_shared_floats(address);
    float largest = fmaxf(first.x, first.y);
    if constexpr (Shape::kParts == 4) {
      const float2 last = load_shared_floats(address + 8);
      largest = fmaxf(largest, fmaxf(last.x, last.y));
    }
    return largest;
  }

  __device__ void store_weights(int step, const PartScores& weights) const {
#pragma unroll
    for (int tile = 0; tile < kPartTiles; ++tile) {
      const float* const values = weights[tile].r;
      store_shared_floats_4(weights_ + step * kBytes + (part_ * kPartTiles + tile) * kTileBytes, values[0],
                            values[1], values[2], values[3]);
    }
  }
  // Loads the weights of all tokens of a step.
  __device__ void load_weights(int step, Scores& weights) const {
#pragma unroll
    for (int tile = 0; tile < kTilesS; ++tile)
      Vector16<fp32>::unpack(load_shared_16(weights_ + step * kBytes + tile * kTileBytes), weights[tile].r);
  }

 private:
  static constexpr int kTileBytes = 32 * 16;
  static constexpr int kWeightBytes = kSlice * 4;          // of a row
  static constexpr int kLargestBytes = Shape::kParts * 4;  // of a row
  static constexpr int kBytes = tile_size_q * Shape::kStepBytes;
  static_assert(!Shape::kInvariant || kWeightBytes + kLargestBytes <= Shape::kStepBytes,
                "a row fits its memory");

  SharedAddress weights_;
  SharedAddress largest_;
  int part_;
};

// Adds the product of the weights and a slice of V to the output. `part` is the index of this warp
// among those with the same rows. ldmatrix treats two adjacent
// 8-bit elements as one and loads both columns of a token together. So the even columns of 16 form
// the first tile of the output, and the odd columns the second.
__device__ inline void multiply_pv(RowState (&states)[kRowTiles], const Weights (&weights)[kRowTiles],
                                   SharedAddress v_slice, int lane, int part) {
  const SharedAddress v_lane =
      v_slice + swizzled<Shape::kRowBytesV>(lane & 15, (lane >> 4) + part * Shape::kTilesV);
  constexpr int kTilesAtOnce = kConvertsKv ? 4 : 2;
#pragma unroll
  for (int step = 0; step < kSlice / 16; ++step) {
#pragma unroll
    for (int tile = 0; tile < Shape::kTilesV; tile += kTilesAtOnce) {
      unsigned v[4];
      load_matrix_x4_transposed(v, advanced(v_lane, 2 * tile / kTilesAtOnce) + step * 16 * Shape::kRowBytesV);
      if constexpr (kConvertsKv) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          // Bytes 0 and 2 belong to one column.
          const Fp16Pairs older = unpack4_e4m3(__byte_perm(v[2 * i], 0, 0x3120));
          const Fp16Pairs newer = unpack4_e4m3(__byte_perm(v[2 * i + 1], 0, 0x3120));
#pragma unroll
          for (int rows = 0; rows < kRowTiles; ++rows) {
            FragmentD* const output = states[rows].output + tile + 2 * i;
            mma_16x8x16<Product>(output[0], weights[rows].steps[step], older.low, newer.low);
            mma_16x8x16<Product>(output[1], weights[rows].steps[step], older.high, newer.high);
          }
        }
      } else {  // a warp has one tile of rows
        FragmentD* const output = states[0].output + tile;
        mma_16x8x16<Product>(output[0], weights[0].steps[step], v[0], v[1]);
        mma_16x8x16<Product>(output[1], weights[0].steps[step], v[2], v[3]);
      }
    }
  }
}

}  // namespace cubinet::attention_decode
