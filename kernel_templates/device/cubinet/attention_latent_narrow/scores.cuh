// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scores of `attention_latent_narrow`: S^T = K Q^T, whose rows are tokens.
#include <cubinet/attention_latent_narrow/converted_product.cuh>

namespace cubinet::attention_latent_narrow {

// The warpgroup that computes the scores. A lane has two of the 16 tokens of its warp, and two rows
// of each tile of eight.
class ScoreWarpgroup {
 public:
  __device__ ScoreWarpgroup(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), product_(layout) {}

  __device__ void process(const SentItem& sent) {
    const PackedRows rows = WorkDivision::rows_of(p_, sent.item);
    const int steps = ItemTokens(p_, sent.item, rows).steps();
    product_.load_q(p_, sent.item.sequence, rows);
    float scales[2 * kTilesN];
#pragma unroll
    for (int i = 0; i < 2 * kTilesN; ++i)
      scales[i] = product_.scale(i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2);
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      FragmentD scores[kTilesN];
      product_.multiply(scores);
      send(scores, scales);
    }
  }

 private:
  __device__ void send(const FragmentD (&scores)[kTilesN], const float (&scales)[2 * kTilesN]) {
    const int lane = threadIdx.x % 32;
    const int token = threadIdx.x % kWarpgroup / 32 * 16 + lane / 4;
    mbarrier_wait(layout_.scores_empty(buffer_.index), buffer_.phase ^ 1);
#pragma unroll
    for (int tile = 0; tile < kTilesN; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        store_shared_float(layout_.scores(buffer_.index, tile * 8 + lane % 4 * 2 + i % 2, token + i / 2 * 8),
                           scores[tile].r[i] * scales[tile * 2 + i % 2]);
    }
    __syncwarp();
    if (lane == 0) mbarrier_arrive(layout_.scores_full(buffer_.index));
    buffer_.advance();
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  ScoreProductOf<kConvertsKv>::Type product_;
  PipelineState<kBuffers> buffer_;
};

}  // namespace cubinet::attention_latent_narrow
