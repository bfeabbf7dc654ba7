// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scores of the template `attention_latent_narrow`: S^T = K Q^T, whose rows are tokens.
#include <cubinet/attention_narrow_convert.cuh>

namespace cubinet::attention {

// The warpgroup that has the scores. A lane has two tokens of the warp's 16 and two rows of each tile of eight.
class Scorer {
 public:
  __device__ Scorer(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), product_(layout) {}

  __device__ void piece(const BlockPiece& of_block) {
    const PackedRows rows = rows_of(p_, of_block.piece);
    const int steps = PieceTokens(p_, of_block.piece, rows).steps();
    product_.bring_q(p_, of_block.piece.sequence, rows);
    float scales[2 * kTilesN];
#pragma unroll
    for (int i = 0; i < 2 * kTilesN; ++i)
      scales[i] = product_.scale(i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2);
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      FragmentD scores[kTilesN];
      product_.multiply(scores);
      hand_on(scores, scales);
    }
  }

 private:
  __device__ void hand_on(const FragmentD (&scores)[kTilesN], const float (&scales)[2 * kTilesN]) {
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
  RingPlace<kBuffers> buffer_;
};

}  // namespace cubinet::attention
