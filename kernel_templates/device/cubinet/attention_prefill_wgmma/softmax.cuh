// SPDX-License-Identifier: Apache-2.0
#pragma once
// The online softmax of `attention_prefill_wgmma`: a thread has two rows, `row` and `row` + 8.
#include <cubinet/attention/masks.cuh>
#include <cubinet/attention_prefill_wgmma/schedule.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention_prefill_wgmma {

constexpr int kScoreTiles = kStep / 8;
constexpr int kOutputTiles = head_dim_v / 8;
using Scores = FragmentD[kScoreTiles];
using Weights = FragmentA[kStep / 16];
using Output = FragmentD[kOutputTiles];

// The tokens that a thread's rows see, and those that all rows of its warpgroup see.
class Visibility {
 public:
  // `row` is the thread's first row, and `first_row` the first one of the warpgroup.
  __device__ Visibility(const AttentionPrefillParameters& p, const Tile& tile, int first_row, int row)
      : kv_len_(tile.kv_len) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      position_[half] = position(p, tile, row + 8 * half);
    begin_of_all_ = begin(p, position(p, tile, first_row + kWarpgroupRows - 1));
    end_of_all_ = end(position(p, tile, first_row));
  }

  // Sets the scores of invisible tokens of a step to -infinity.
  __device__ void mask(const AttentionPrefillParameters& p, Scores& scores, int step) const {
    const int token = step * kStep;
    if (token + kStep <= end_of_all_ && token >= begin_of_all_) return;
    const int column = token + static_cast<int>(threadIdx.x & 3) * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int after = end(position_[half]) - column;
      const int before = begin(p, position_[half]) - column;
#pragma unroll
      for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int at = tile * 8 + i;
          const bool seen = at < after && (!sliding_window || at >= before);
          if (!seen) scores[tile].r[2 * half + i] = negative_infinity();
        }
      }
    }
  }

 private:
  __device__ static int position(const AttentionPrefillParameters& p, const Tile& tile, int row) {
    return tile.prefix() + tile.q_token + p.tile_heads.quotient(row);
  }
  __device__ int end(int position) const { return kCausal ? minimum(position + 1, kv_len_) : kv_len_; }
  __device__ static int begin(const AttentionPrefillParameters& p, int position) {
    return sliding_window ? position + 1 - p.window : 0;
  }

  int kv_len_;
  int position_[2];
  int begin_of_all_;
  int end_of_all_;
};

#ifndef SLACK
#define SLACK 0
#endif
#ifndef WAITPOS
#define WAITPOS 1
#endif
#ifndef SKIPS
#define SKIPS 0
#endif
#ifndef EMU
#define EMU 0
#endif
// The running softmax of a thread's two rows.
class RowSoftmax {
 public:
  __device__ explicit RowSoftmax(const AttentionPrefillParameters& p)
      : scale_log2_{scale(p), scale(p)}, cap_(p, scale_log2_) {}

  // Updates the maxima with the scores of a step.
  __device__ void update_maxima(const Scores& scores) {
    float newest[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      newest[half] = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
      for (int tile = 1; tile < kScoreTiles; ++tile)
        newest[half] = fmaxf(newest[half], fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
#if SLACK
      newest[half] *= scale_log2_[half];
      corrections_[half] = 1.0f;
#endif
    }
#if SLACK
    if (!__any_sync(kAllLanes, newest[0] > maxima[0] + SLACK || newest[1] > maxima[1] + SLACK)) return;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      newest[half] = lanes_max<4>(newest[half]);
      if (!(newest[half] > maxima[half] + SLACK)) continue;
      corrections_[half] = exp2_approx(maxima[half] - newest[half]);
      maxima[half] = newest[half];
      sums_[half] *= corrections_[half];
    }
#else
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      newest[half] = fmaxf(maxima[half], lanes_max<4>(newest[half]) * scale_log2_[half]);
      corrections_[half] = exp2_approx(maxima[half] - offset_of(newest[half]));
      maxima[half] = newest[half];
      sums_[half] *= corrections_[half];
    }
#endif
  }

  // Replaces a row's scores by weights, which are relative to its maximum, and adds them to its sum.
  __device__ void weigh(Scores& scores, int half) {
    const float offset = offset_of(maxima[half]);
#pragma unroll
    for (int tile = 0; tile < kScoreTiles; ++tile) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        const float logit = scores[tile].r[i] * scale_log2_[half] - offset;
        const bool polynomial = (tile * 2 + i % 2) % 8 < EMU;
        scores[tile].r[i] = polynomial ? exp2_polynomial(logit) : exp2_approx(logit);
        sums_[half] += scores[tile].r[i];
      }
    }
  }

  // Returns `number`. It depends on all weights, because the compiler does not know that their sums
  // are not negative.
  __device__ unsigned after_weights(unsigned number) const {
#if WAITPOS == 0
    return corrections_[0] + corrections_[1] < 0.0f ? ~number : number;
#elif WAITPOS == 1
    return sums_[0] + corrections_[1] < 0.0f ? ~number : number;
#else
    return sums_[0] + sums_[1] < 0.0f ? ~number : number;
#endif
  }

  __device__ void cap(Scores& scores) const { cap_.apply(scores); }

  // Corrects the output of the steps before the newest.
  __device__ void correct(Output& output) const {
#if SKIPS
    if (!__any_sync(kAllLanes, corrections_[0] != 1.0f || corrections_[1] != 1.0f)) return;
#endif
#pragma unroll
    for (int tile = 0; tile < kOutputTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        output[tile].r[i] *= corrections_[i / 2];
    }
  }

  // Returns the sum of a row's weights.
  __device__ float sum(int half) const { return lanes_sum<4>(sums_[half]); }

  // The largest base-2 logits.
  float maxima[2] = {negative_infinity(), negative_infinity()};

 private:
  __device__ static float scale(const AttentionPrefillParameters& p) {
    return p.softmax_scale_address != 0 ? fmaxf(load_global_float(p.softmax_scale_address), 0.0f)
                                        : p.softmax_scale_log2;
  }

  // Any finite offset makes all weights 0, and not NaN, if the row has seen no token yet.
  __device__ static float offset_of(float maximum) {
    return maximum == negative_infinity() ? 0.0f : maximum;
  }

  float scale_log2_[2];
  attention::SoftCap<soft_cap> cap_;
  float corrections_[2];
  float sums_[2] = {};
};

__device__ inline void pack(Weights& weights, const Scores& scores) {
#pragma unroll
  for (int step = 0; step < kStep / 16; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const FragmentD& tile = scores[2 * step + i / 2];
      weights[step].r[i] = pack2<dtype>(tile.r[i % 2 * 2], tile.r[i % 2 * 2 + 1]);
    }
  }
}

}  // namespace cubinet::attention_prefill_wgmma
