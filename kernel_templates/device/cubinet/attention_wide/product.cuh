// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of `attention_wide`: the part of the logits of a step that a warp computes, and its
// columns of P V.
#include <cubinet/attention/softmax.cuh>
#include <cubinet/attention_wide/shape.cuh>
#include <cubinet/e4m3.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention_wide {

using RowState = RowStateOf<Shape>;
using Weights = WeightsOf<Shape>;

// The columns of a warp of the output, for all rows.
struct WideState {
  RowState rows[kRowTiles];
};

class WideProduct {
 public:
  __device__ WideProduct(SharedAddress q_shared, SharedAddress logits, int warp, int lane)
      : lane_(lane),
        first_row_(warp % kWarpsRows * kWarpRows),
        first_token_(warp / kWarpsRows % kWarpsTokens * kWarpTokens),
        part_(warp / (kWarpsRows * kWarpsTokens)),
        first_column_(warp * kWarpColumns),
        q_(advanced_in<Shape::kRowBytesQ>(
            q_shared + swizzled<Shape::kRowBytesQ>(first_row_ + lane % 16, lane / 16), 4 * part_)),
        logits_(logits) {
#pragma unroll
    for (int pair = 0; pair < kKeptPairs; ++pair) {
      if (!has_pair(pair)) break;
      q_fragments_[2 * pair] = load_q(pair, 0);
      q_fragments_[2 * pair + 1] = load_q(pair, 1);
    }
  }

  // Computes the warp's part of the logits of a step and stores it to the buffer for even or odd
  // steps.
  __device__ void multiply_qk(SharedAddress k_step, int step) const {
    FragmentD sums[2] = {};
    // With 16 tokens, one ldmatrix loads 16 columns, or 32 columns of 8-bit elements, and the two
    // sums are for 8 tokens each. With 8 tokens it loads 32 columns; the two sums are added at the
    // end, which halves the chain of dependent products.
    constexpr int kRowBytes = Shape::kRowBytesK;
    const SharedAddress k = advanced_in<kRowBytes>(
        k_step + (kWarpTokens == 16
                      ? swizzled<kRowBytes>(first_token_ + lane_ % 8 + lane_ / 16 * 8, lane_ / 8 % 2)
                      : swizzled<kRowBytes>(first_token_ + lane_ % 8, lane_ / 8)),
        kPairChunks * part_);
#pragma unroll
    for (int pair = 0; pair < kWarpPairs; ++pair) {
      if (!has_pair(pair)) break;
      const SharedAddress k_pair = advanced_in<kRowBytes>(k, kPairChunks * kWarpsDim * pair);
      unsigned b[4];
      load_matrix_x4(b, k_pair);
      if constexpr (kConvertsKv) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const FragmentA a = q_fragment(pair, i);
          const Fp16Pairs older = unpack4_e4m3(b[i]);
          const Fp16Pairs newer = unpack4_e4m3(b[2 + i]);
          mma_16x8x16<Product>(sums[0], a, older.low, older.high);
          mma_16x8x16<Product>(sums[1], a, newer.low, newer.high);
        }
      } else {
        mma_16x8x16<Product>(sums[0], q_fragment(pair, 0), b[0], b[1]);
        if constexpr (kWarpTokens == 16) {
          mma_16x8x16<Product>(sums[1], q_fragment(pair, 0), b[2], b[3]);
          load_matrix_x4(b, advanced(k_pair, 2));
          mma_16x8x16<Product>(sums[0], q_fragment(pair, 1), b[0], b[1]);
        }
        mma_16x8x16<Product>(sums[1], q_fragment(pair, 1), b[2], b[3]);
      }
    }
    if constexpr (kWarpTokens == 8) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[0].r[i] += sums[1].r[i];
    }
    const int part = part_ * tile_size_q;
    const SharedAddress target =
        logits(step) + ((part + first_row_ + lane_ / 4) * kLogitStride + first_token_ + lane_ % 4 * 2) * 4;
#pragma unroll
    for (int tile = 0; tile < kWarpTokens / 8; ++tile) {
      store_shared_floats(target + tile * 32, sums[tile].r[0], sums[tile].r[1]);
      store_shared_floats(target + tile * 32 + 8 * kLogitStride * 4, sums[tile].r[2], sums[tile].r[3]);
    }
  }

  // Returns the address of the logits of a step: [kWarpsDim][tile_size_q][kLogitStride] floats.
  __device__ SharedAddress logits(int step) const {
    return logits_ + (step & 1) * kLogitBytes;
  }

  // Loads the raw logits of 16 rows and a slice of a step, as 16x8 tiles.
  __device__ void load_scores(FragmentD (&scores)[kTilesS], int row_tile, int step, int slice) const {
    const SharedAddress source =
        logits(step) +
        ((row_tile * kWarpRows + lane_ / 4) * kLogitStride + slice * kSlice + lane_ % 4 * 2) * 4;
#pragma unroll
    for (int tile = 0; tile < kTilesS; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float2 sum = load_shared_floats(source + (tile * 8 + half * 8 * kLogitStride) * 4);
#pragma unroll
        for (int part = 1; part < kWarpsDim; ++part) {
          const float2 other =
              load_shared_floats(source + (tile * 8 + (half * 8 + part * tile_size_q) * kLogitStride) * 4);
          sum = make_float2(sum.x + other.x, sum.y + other.y);
        }
        scores[tile].r[2 * half] = sum.x;
        scores[tile].r[2 * half + 1] = sum.y;
      }
    }
  }

  __device__ void multiply_pv(WideState& state, const Weights (&weights)[kRowTiles], SharedAddress v_step,
                              int slice) const {
    constexpr int kRowBytes = Shape::kRowBytesV;
    const SharedAddress v = advanced_in<kRowBytes>(
        v_step + slice * (kSlice * kRowBytes) + swizzled<kRowBytes>(lane_ % 16, lane_ / 16),
        first_column_ * Shape::kElementBytes / 16);
    constexpr int kTilesAtOnce = kConvertsKv ? 4 : 2;
#pragma unroll
    for (int step = 0; step < kSlice / 16; ++step) {
#pragma unroll
      for (int tile = 0; tile < kTilesV; tile += kTilesAtOnce) {
        unsigned b[4];
        load_matrix_x4_transposed(b,
                                  advanced_in<kRowBytes>(v, 2 * tile / kTilesAtOnce) + step * 16 * kRowBytes);
        if constexpr (kConvertsKv) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            // Bytes 0 and 2 belong to one column.
            const Fp16Pairs older = unpack4_e4m3(__byte_perm(b[2 * i], 0, 0x3120));
            const Fp16Pairs newer = unpack4_e4m3(__byte_perm(b[2 * i + 1], 0, 0x3120));
#pragma unroll
            for (int row_tile = 0; row_tile < kRowTiles; ++row_tile) {
              FragmentD* const output = state.rows[row_tile].output + tile + 2 * i;
              mma_16x8x16<Product>(output[0], weights[row_tile].steps[step], older.low, newer.low);
              mma_16x8x16<Product>(output[1], weights[row_tile].steps[step], older.high, newer.high);
            }
          }
        } else {
#pragma unroll
          for (int row_tile = 0; row_tile < kRowTiles; ++row_tile) {
            FragmentD* const output = state.rows[row_tile].output + tile;
            mma_16x8x16<Product>(output[0], weights[row_tile].steps[step], b[0], b[1]);
            mma_16x8x16<Product>(output[1], weights[row_tile].steps[step], b[2], b[3]);
          }
        }
      }
    }
  }

 private:
  // Returns whether the warp has the pair with this index.
  __device__ bool has_pair(int pair) const {
    return kPairs % kWarpsDim == 0 || pair * kWarpsDim + part_ < kPairs;
  }
  __device__ FragmentA load_q(int pair, int second) const {
    FragmentA a;
    load_matrix_x4(a.r, advanced(advanced_in<Shape::kRowBytesQ>(q_, 4 * kWarpsDim * pair), 2 * second));
    return a;
  }
  __device__ FragmentA q_fragment(int pair, int second) const {
    return pair < kKeptPairs ? q_fragments_[2 * pair + second] : load_q(pair, second);
  }

  int lane_;
  int first_row_;  // first row of the warp's part of the logits
  int first_token_;
  int part_;          // part of the head dim
  int first_column_;  // first column of the output
  SharedAddress q_;
  SharedAddress logits_;
  FragmentA q_fragments_[2 * kKeptPairs + 1];
};

}  // namespace cubinet::attention_wide
