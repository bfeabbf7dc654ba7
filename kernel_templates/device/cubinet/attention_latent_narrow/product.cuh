// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of the scores of `attention_latent_narrow`, S^T = K Q^T, whose rows are tokens.
#include <cubinet/async_copy.cuh>
#include <cubinet/attention_latent_narrow/layout.cuh>
#include <cubinet/warp_roles.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention_latent_narrow {

// The barrier of the score warpgroup.
constexpr int kScoreBarrier = 2;

// Multiplies K and Q of the same type, both from shared memory.
class ScoreProduct {
 public:
  __device__ explicit ScoreProduct(const SharedLayout& layout) : layout_(layout) {}

  __device__ void load_q(const AttentionDecodeParameters& p, const Sequence& sequence,
                         const PackedRows& rows) {
    synchronize_warps(kScoreBarrier, kWarpgroup);
    constexpr int kChunks = kRowBytes / 16;
#pragma unroll 1
    for (int i = threadIdx.x % kWarpgroup; i < tile_size_q * kChunks; i += kWarpgroup) {
      const int row = i / kChunks;
      const int chunk = i % kChunks;
      const SharedAddress target = layout_.q() + SwizzledColumns<tile_size_q>::place(row, chunk);
      async_copy_16_or_zero(target, q_row<dtype_q>(p, sequence, rows, row) + chunk * 16, rows.holds(row));
    }
    async_copy_commit();
    async_copy_wait<0>();
    fence_async_proxy();
    synchronize_warps(kScoreBarrier, kWarpgroup);
  }

  __device__ void multiply(FragmentD (&scores)[kTilesN]) {
    const MatrixDescriptor q = rows_of_k(layout_.q());
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      mbarrier_wait(layout_.kv_full(state_.index), state_.phase);
      fence_async_proxy();
      wgmma_begin(scores);
      const MatrixDescriptor k = rows_of_k(layout_.kv(state_.index));
#pragma unroll
      for (int step = 0; step < kBlocksOfPart * 4; ++step)
        Wgmma<dtype_kv, tile_size_q>::multiply(
            scores, descriptor_behind(k, step / 4 * kBlockBytes + step % 4 * 32),
            descriptor_behind(q, (part * kBlocksOfPart + step / 4) * kQBlockBytes + step % 4 * 32),
            part + step > 0);
      state_.advance();
    }
    wgmma_commit();
    wgmma_wait<0>(scores);
  }

  // Returns the scale of the scores of a row.
  __device__ float scale(int) const {
    return 1.0f;
  }

 private:
  const SharedLayout& layout_;
  PipelineState<stages> state_;
};

}  // namespace cubinet::attention_latent_narrow
