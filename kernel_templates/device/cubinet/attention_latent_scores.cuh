// SPDX-License-Identifier: Apache-2.0
#pragma once
// The softmax of the template `attention_latent`.
#include <cubinet/attention_latent_layout.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention {

// Weights of a slice as an operand in registers: those of 16 tokens each.
using Weights = FragmentA[kSlice / 16];

// The running softmax of a thread's two rows, eight from each other, over the slices that its warpgroup has
// the scores of. The maxima are those of all slices.
class RowSoftmax {
 public:
  static constexpr int kTiles = kSlice / 8;

  __device__ RowSoftmax(const AttentionDecodeParameters& p, const SharedLayout& layout, const Piece& piece,
                        const PackedRows& rows, int row, float softmax_scale_log2)
      : seen_by_all_(visible_to(p, piece.sequence, rows.token(0)).end) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      visible_[half] = visible_to(p, piece.sequence, rows.token(row + 8 * half)).end;
      scale_log2_[half] = softmax_scale_log2;
      if constexpr (kConvertsKv)
        scale_log2_[half] *= kE4m3Scale * load_shared_float(layout.q_scale(row + 8 * half));
    }
  }

  // Makes the slice's scores weights, takes them into the sums, and the maxima follow all slices up to it. `token`: its
  // first.
  __device__ void weigh(FragmentD (&scores)[kTiles], int token, Weights& weights) {
    if (token + kSlice > seen_by_all_) hide(scores, token);
    follow(scores);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float scale_log2 = scale_log2_[half];
      const float offset = offset_of(maxima[half]);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const float first = exp2_approx(scores[tile].r[2 * half] * scale_log2 - offset);
        const float second = exp2_approx(scores[tile].r[2 * half + 1] * scale_log2 - offset);
        sums_[half] += first + second;
        weights[tile / 2].r[tile % 2 * 2 + half] = pack2<Product>(first, second);
      }
    }
  }

  // To a maximum that others' slices have.
  __device__ void advance(int half, float maximum) {
    corrections[half] = exp2_approx(maxima[half] - offset_of(maximum));
    maxima[half] = maximum;
    sums_[half] *= corrections[half];
  }

  __device__ float sum(int half) const { return lanes_sum<4>(sums_[half]); }

  // Base 2; less than the largest logit by up to kOffsetSlack.
  float maxima[2] = {negative_infinity(), negative_infinity()};
  // What was summed up before the newest slice has to be multiplied by.
  float corrections[2] = {1.0f, 1.0f};

 private:
  // The lanes of a row meet only where its logits have grown by more than the slack.
  __device__ void follow(const FragmentD (&scores)[kTiles]) {
    float newest[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      newest[half] = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
      for (int tile = 1; tile < kTiles; ++tile)
        newest[half] = fmaxf(newest[half], fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
      newest[half] *= scale_log2_[half];
      corrections[half] = 1.0f;
    }
    if (!__any_sync(kAllLanes, newest[0] > maxima[0] + kOffsetSlack || newest[1] > maxima[1] + kOffsetSlack)) return;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      advance(half, fmaxf(maxima[half], lanes_max<4>(newest[half])));
  }

  // A row that has seen no token yet: any finite offset makes all its weights 0 rather than NaN.
  __device__ static float offset_of(float maximum) {
    return maximum == negative_infinity() ? 0.0f : maximum;
  }

  __device__ void hide(FragmentD (&scores)[kTiles], int token) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int left = visible_[half] - token - static_cast<int>(threadIdx.x & 3) * 2;
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        if (tile * 8 >= left) scores[tile].r[2 * half] = negative_infinity();
        if (tile * 8 + 1 >= left) scores[tile].r[2 * half + 1] = negative_infinity();
      }
    }
  }

  int seen_by_all_;
  int visible_[2];
  float scale_log2_[2];
  float sums_[2] = {};
};

}  // namespace cubinet::attention
