// SPDX-License-Identifier: Apache-2.0
#pragma once
// The score product of `attention_latent_narrow` for K of e4m3, which is multiplied as fp16. Each
// warp loads its own 16 tokens of K from shared memory and converts them in the registers that feed
// wgmma.
#include <cubinet/attention/q.cuh>
#include <cubinet/attention_latent_narrow/product.cuh>

namespace cubinet::attention_latent_narrow {

class ConvertedScoreProduct {
 public:
  __device__ explicit ConvertedScoreProduct(const SharedLayout& layout)
      : layout_(layout), warp_(threadIdx.x % kWarpgroup / 32), lane_(threadIdx.x % 32) {}

  // Converts Q to fp16 and stores it, each row times a power of two. Each 16 elements are stored in
  // the order 0 1 4 5 8 9 12 13 2 3 6 7 10 11 14 15, in which the conversion of K passes its
  // elements to the tensor cores. The whole warpgroup must call it.
  __device__ void load_q(const AttentionDecodeParameters& p, const Sequence& sequence,
                         const PackedRows& rows) {
    synchronize_warps(kScoreBarrier, kWarpgroup);
    const int lane_of_row = threadIdx.x % kLanesOfRow;
#pragma unroll 1
    for (int row = threadIdx.x % kWarpgroup / kLanesOfRow; row < tile_size_q;
         row += kWarpgroup / kLanesOfRow) {
      const GlobalAddress source =
          q_row<dtype_q>(p, sequence, rows, row) + lane_of_row * (8 * sizeof(dtype_q));
      uint4 bits[kPartsOfLane];
      float largest = 0.0f;
#pragma unroll
      for (int i = 0; i < kPartsOfLane; ++i)
        bits[i] = load_q_part<dtype_q>(source + i * (kLanesOfRow * 8 * sizeof(dtype_q)));
#pragma unroll
      for (int i = 0; i < kPartsOfLane; ++i) {
        float values[8];
        unpack_q(bits[i], values);
#pragma unroll
        for (int k = 0; k < 8; ++k)
          largest = fmaxf(largest, fabsf(values[k]));
      }
      float scale;
      const float factor = normalising_factor(lanes_max<kLanesOfRow>(largest), scale);
#pragma unroll
      for (int i = 0; i < kPartsOfLane; ++i) {
        const int part = lane_of_row + i * kLanesOfRow;
        float values[8];
        unpack_q(bits[i], values);
        const SharedAddress first = q_chunk(row, part / 2 * 2) + part % 2 * 8;
        store_shared_8(first, pack2<fp16>(values[0] * factor, values[1] * factor),
                       pack2<fp16>(values[4] * factor, values[5] * factor));
        store_shared_8(advanced(first, 1), pack2<fp16>(values[2] * factor, values[3] * factor),
                       pack2<fp16>(values[6] * factor, values[7] * factor));
      }
      if (lane_of_row == 0) store_shared_float(layout_.q_scale(row), scale);
    }
    fence_async_proxy();
    synchronize_warps(kScoreBarrier, kWarpgroup);
  }

  __device__ void multiply(FragmentD (&scores)[kTilesN]) {
    mbarrier_wait(layout_.kv_full(state_.index), state_.phase);
    const SharedAddress k = layout_.kv(state_.index);
    const MatrixDescriptor q = rows_of_k(layout_.q());
    // The loop multiplies one group while it converts the next and loads the one after it.
    FragmentA tokens[2][kGroup];
    unsigned words[2][kGroup / 2][4];
    load(words[0], k, 0);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int now = group % 2;
      if (group + 1 < kGroups) load(words[1 - now], k, group + 1);
      if (group >= 2) wgmma_wait<1>(tokens[now]);
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        const Fp16Pairs upper = unpack4_e4m3(words[now][i / 2][i % 2 * 2]);
        const Fp16Pairs lower = unpack4_e4m3(words[now][i / 2][i % 2 * 2 + 1]);
        tokens[now][i] = {{upper.low, lower.low, upper.high, lower.high}};
      }
      wgmma_begin(scores, tokens[now]);
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        const int chunk = group * kGroup + i;
        Wgmma<fp16, tile_size_q>::multiply(scores, tokens[now][i],
                                           descriptor_behind(q, chunk / 4 * kQBlockBytes + chunk % 4 * 32),
                                           chunk > 0);
      }
      wgmma_commit();
    }
    wgmma_wait<0>(scores, tokens[0], tokens[1]);
    state_.advance();
  }

  __device__ float scale(int row) const {
    return load_shared_float(layout_.q_scale(row));
  }

 private:
  // The chunks of 16 elements of K that are processed at a time.
  static constexpr int kGroup = 4;
  static constexpr int kGroups = head_dim_qk / 16 / kGroup;
  static_assert(kGroups * kGroup * 16 == head_dim_qk && kGroup % 2 == 0, "groups are whole pairs of chunks");

  // Loads a group of chunks of the 16 tokens of the warp.
  __device__ void load(unsigned (&words)[kGroup / 2][4], SharedAddress k, int group) const {
    const int token = warp_ * 16 + lane_ % 16;
#pragma unroll
    for (int i = 0; i < kGroup / 2; ++i) {
      const int first = group * kGroup + 2 * i;
      const int chunk = first % 8 + lane_ / 16;
      const SharedAddress block = k + first / 8 * kBlockBytes;
      load_matrix_x4(words[i], block + (first / 8 < kBlocks ? swizzled<kBlockRowBytes>(token, chunk)
                                                            : swizzled<64>(token, chunk)));
    }
  }

  static constexpr int kLanesOfRow = 8;
  static constexpr int kPartsOfLane = head_dim_qk / 8 / kLanesOfRow;

  __device__ static void unpack_q(const uint4& bits, float (&values)[8]) {
    if constexpr (sizeof(dtype_q) == 1) {
      const Fp16Pairs pairs[2] = {unpack4_e4m3(bits.x), unpack4_e4m3(bits.y)};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float2 low = unpack2<fp16>(pairs[i].low);
        const float2 high = unpack2<fp16>(pairs[i].high);
        values[4 * i] = low.x;
        values[4 * i + 1] = low.y;
        values[4 * i + 2] = high.x;
        values[4 * i + 3] = high.y;
      }
    } else {
      Vector16<dtype_q>::unpack(bits, values);
    }
  }
  __device__ SharedAddress q_chunk(int row, int chunk) const {
    return layout_.q() + SwizzledColumns<tile_size_q>::place(row, chunk);
  }

  const SharedLayout& layout_;
  int warp_;
  int lane_;
  PipelineState<stages> state_;
};

template <bool kConverts>
struct ScoreProductOf {
  using Type = ScoreProduct;
};
template <>
struct ScoreProductOf<true> {
  using Type = ConvertedScoreProduct;
};

}  // namespace cubinet::attention_latent_narrow
