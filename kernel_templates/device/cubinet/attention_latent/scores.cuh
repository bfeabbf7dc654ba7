// SPDX-License-Identifier: Apache-2.0
#pragma once
// The online softmax of `attention_latent`.
#include <cubinet/attention_latent/layout.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention_latent {

// The weights of a slice as an operand in registers, 16 tokens per fragment.
using Weights = FragmentA[kSlice / 16];

// The running softmax of a thread's two rows, `row` and `row + 8`. The sums cover the slices whose
// scores this warpgroup computes; the maxima cover all slices.
class RowSoftmax {
 public:
  static constexpr int kTiles = kSlice / 8;

  __device__ RowSoftmax(const AttentionDecodeParameters& p, const ExchangeLayout& layout,
                        const WorkItem& item, const PackedRows& rows, int row, float softmax_scale_log2)
      : seen_by_all_(Visible::to_token(p, item.sequence, rows.token(0)).end) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      visible_[half] = Visible::to_token(p, item.sequence, rows.token(row + 8 * half)).end;
      scale_log2_[half] = softmax_scale_log2;
      if constexpr (kConvertsQ)
        scale_log2_[half] *= kE4m3Scale * load_shared_float(layout.q_scale(row + 8 * half));
    }
  }

  // Updates the maxima and sums with a slice, and computes its weights. `token` is the first token
  // of the slice.
  __device__ void update(FragmentD (&scores)[kTiles], int token, Weights& weights) {
    if (token + kSlice > seen_by_all_) mask(scores, token);
    update_maxima(scores);
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

  // Updates the state with the maximum of slices of the other warpgroup.
  __device__ void advance(int half, float maximum) {
    corrections[half] = exp2_approx(maxima[half] - offset_of(maximum));
    maxima[half] = maximum;
    sums_[half] *= corrections[half];
  }

  __device__ float sum(int half) const {
    return lanes_sum<4>(sums_[half]);
  }

  // The maxima of the base-2 logits; less than the largest logit by up to kOffsetSlack.
  float maxima[2] = {negative_infinity(), negative_infinity()};
  // The factors that correct the sums before the newest slice.
  float corrections[2] = {1.0f, 1.0f};

 private:
  // Updates the maxima. The lanes of a row exchange maxima only if the logits have grown by more
  // than the slack.
  __device__ void update_maxima(const FragmentD (&scores)[kTiles]) {
    constexpr float kSlack = Shape::kOffsetSlack;
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
    if (!__any_sync(kAllLanes, newest[0] > maxima[0] + kSlack || newest[1] > maxima[1] + kSlack)) return;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      advance(half, fmaxf(maxima[half], lanes_max<4>(newest[half])));
  }

  // Returns the offset of the weights. Any finite offset makes all weights 0, and not NaN, if the
  // row has seen no token yet.
  __device__ static float offset_of(float maximum) {
    return maximum == negative_infinity() ? 0.0f : maximum;
  }

  __device__ void mask(FragmentD (&scores)[kTiles], int token) const {
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

}  // namespace cubinet::attention_latent
