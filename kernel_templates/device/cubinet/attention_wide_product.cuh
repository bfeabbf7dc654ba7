// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of the template `attention_wide`: a warp's part of the logits of a step, and its columns of P V.
#include <cubinet/attention_decode_softmax.cuh>
#include <cubinet/e4m3.cuh>
#include <cubinet/mma.cuh>
#include <cubinet/swizzle.cuh>

namespace cubinet::attention {

// Of all rows, a warp's columns of the output.
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
        q_(advanced_in<kRowBytesQ>(
            q_shared + swizzled<kRowBytesQ>(first_row_ + lane % 16, lane / 16), 4 * part_)),
        logits_(logits) {
#pragma unroll
    for (int pair = 0; pair < kKeptPairs; ++pair) {
      if (!has_pair(pair)) break;
      q_fragments_[2 * pair] = load_q(pair, 0);
      q_fragments_[2 * pair + 1] = load_q(pair, 1);
    }
  }

  // Leaves the warp's part of the logits of a step among those of even or odd steps.
  __device__ void multiply_qk(SharedAddress k_step, int step) const {
    FragmentD sums[2] = {};
    // Of 16 tokens one ldmatrix brings 16 columns, of elements of eight bits 32, and the two sums are of 8 tokens each;
    // of 8 tokens it brings 32, whose sums are added up at the end: the chain of dependent products is half as long.
    const SharedAddress k = advanced_in<kRowBytesK>(
        k_step + (kWarpTokens == 16
                      ? swizzled<kRowBytesK>(first_token_ + lane_ % 8 + lane_ / 16 * 8, lane_ / 8 % 2)
                      : swizzled<kRowBytesK>(first_token_ + lane_ % 8, lane_ / 8)),
        kPairChunks * part_);
#pragma unroll
    for (int pair = 0; pair < kWarpPairs; ++pair) {
      if (!has_pair(pair)) break;
      const SharedAddress k_pair = advanced_in<kRowBytesK>(k, kPairChunks * kWarpsDim * pair);
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
        of_step(step) + ((part + first_row_ + lane_ / 4) * kLogitStride + first_token_ + lane_ % 4 * 2) * 4;
#pragma unroll
    for (int tile = 0; tile < kWarpTokens / 8; ++tile) {
      store_shared_floats(target + tile * 32, sums[tile].r[0], sums[tile].r[1]);
      store_shared_floats(target + tile * 32 + 8 * kLogitStride * 4, sums[tile].r[2], sums[tile].r[3]);
    }
  }

  // Of a step: [kWarpsDim][tile_size_q][kLogitStride] floats.
  __device__ SharedAddress of_step(int step) const { return logits_ + (step & 1) * kLogitBytes; }

  // Raw logits of 16 rows and a slice of a step, as tiles of 16x8.
  __device__ void load_scores(FragmentD (&scores)[kTilesS], int row_tile, int step, int slice) const {
    const SharedAddress source =
        of_step(step) + ((row_tile * kWarpRows + lane_ / 4) * kLogitStride + slice * kSlice + lane_ % 4 * 2) * 4;
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
    const SharedAddress v = advanced_in<kRowBytesV>(
        v_step + slice * (kSlice * kRowBytesV) + swizzled<kRowBytesV>(lane_ % 16, lane_ / 16), first_column_ * kElementBytes / 16);
    constexpr int kTilesAtOnce = kConvertsKv ? 4 : 2;
#pragma unroll
    for (int step = 0; step < kSlice / 16; ++step) {
#pragma unroll
      for (int tile = 0; tile < kTilesV; tile += kTilesAtOnce) {
        unsigned b[4];
        load_matrix_x4_transposed(b, advanced_in<kRowBytesV>(v, 2 * tile / kTilesAtOnce) + step * 16 * kRowBytesV);
        if constexpr (kConvertsKv) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            // Bytes 0 and 2 are one column's.
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
  // Whether the warp has so many pairs of steps and one more.
  __device__ bool has_pair(int pair) const {
    return kPairs % kWarpsDim == 0 || pair * kWarpsDim + part_ < kPairs;
  }
  __device__ FragmentA load_q(int pair, int second) const {
    FragmentA a;
    load_matrix_x4(a.r, advanced(advanced_in<kRowBytesQ>(q_, 4 * kWarpsDim * pair), 2 * second));
    return a;
  }
  __device__ FragmentA q_fragment(int pair, int second) const {
    return pair < kKeptPairs ? q_fragments_[2 * pair + second] : load_q(pair, second);
  }

  int lane_;
  int first_row_;  // of the warp's part of the logits
  int first_token_;
  int part_;          // of the head dim
  int first_column_;  // of the output
  SharedAddress q_;
  SharedAddress logits_;
  FragmentA q_fragments_[2 * kKeptPairs + 1];
};

}  // namespace cubinet::attention
