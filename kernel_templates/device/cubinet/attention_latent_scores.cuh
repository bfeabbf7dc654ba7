// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scores and the softmax of the template `attention_latent`.
#include <cubinet/attention_latent_layout.cuh>
#include <cubinet/swizzle.cuh>
#include <cubinet/wgmma.cuh>

namespace cubinet::attention {

// The warpgroup that has the scores.
class Scorer {
 public:
  __device__ Scorer(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : layout_(layout), warp_(threadIdx.x % kWarpgroup / 32), lane_(threadIdx.x % 32) {
    softmax_scale_log2_ = p.softmax_scale_address != 0
                              ? fmaxf(load_global_float(p.softmax_scale_address), 0.0f)
                              : p.softmax_scale_log2;
  }

  __device__ void piece(const AttentionDecodeParameters& p, const Piece& piece, const PackedRows& rows,
                        const PieceTokens& tokens) {
    const int slices = tokens.slices();
    seen_by_all_ = visible_to(p, piece.sequence, rows.token(0)).end;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      visible_[half] = visible_to(p, piece.sequence, rows.token(row() + 8 * half)).end;
      maximum_[half] = negative_infinity();
      sum_[half] = 0.0f;
    }
    mbarrier_wait(layout_.q_full(), q_phase_);
    q_phase_ ^= 1;
    scale_log2_[0] = scale_log2_[1] = softmax_scale_log2_;
    if constexpr (kConvertsKv) {
      if (has_rows()) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          scale_log2_[half] *= kE4m3Scale * load_shared_float(layout_.q_scale(row() + 8 * half));
      }
    }
    FragmentD even[kTiles];
    FragmentD odd[kTiles];
    if (slices > 0) {
      int token = tokens.begin;
      multiply(even);
      // The products of a slice are under way while the one before it is weighed.
#pragma unroll 1
      for (int left = slices - 1;; left -= 2) {
        if (left == 0) {
          wgmma_wait<0>(even);
          weigh(even, token);
          break;
        }
        multiply(odd);
        wgmma_wait<1>(even);
        weigh(even, token);
        token += kSlice;
        if (left == 1) {
          wgmma_wait<0>(odd);
          weigh(odd, token);
          break;
        }
        multiply(even);
        wgmma_wait<1>(odd);
        weigh(odd, token);
        token += kSlice;
      }
    }
    release_q();
    end();
  }

 private:
  static constexpr int kTiles = kSlice / 8;

  __device__ int row() const {
    return warp_ * 16 + lane_ / 4;
  }
  __device__ bool has_rows() const {
    return warp_ * 16 < tile_size_q;
  }

  __device__ void release_q() const {
    if (lane_ == 0) mbarrier_arrive(layout_.q_empty());
  }

  // Starts the products of the next slice.
  __device__ void multiply(FragmentD (&scores)[kTiles]) {
    mbarrier_wait(layout_.kv_full(place_.index), place_.phase);
    fence_async_proxy();
    const MatrixDescriptor q = rows_of_k(layout_.q());
    const MatrixDescriptor k = rows_of_k(layout_.kv(place_.index));
    wgmma_begin(scores);
#pragma unroll
    for (int step = 0; step < head_dim_qk / 16; ++step)
      Wgmma<Product, kSlice>::multiply(scores, descriptor_behind(q, step / 4 * kQBlockBytes + step % 4 * 32),
                                       descriptor_behind(k, step / 4 * kKvBlockBytes + step % 4 * 32),
                                       step > 0);
    wgmma_commit();
    place_.advance();
  }

  // Takes the slice into the running maximum and sum, and hands its weights on.
  __device__ void weigh(FragmentD (&scores)[kTiles], int token) {
    mbarrier_wait(layout_.weights_empty(buffer_.index), buffer_.phase ^ 1);
    if (has_rows()) {
      if (token + kSlice > seen_by_all_) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            if (token + tile * 8 + (lane_ & 3) * 2 + (i & 1) >= visible_[i >> 1])
              scores[tile].r[i] = negative_infinity();
          }
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float newest = fmaxf(scores[0].r[2 * half], scores[0].r[2 * half + 1]);
#pragma unroll
        for (int tile = 1; tile < kTiles; ++tile)
          newest = fmaxf(newest, fmaxf(scores[tile].r[2 * half], scores[tile].r[2 * half + 1]));
        const float maximum_now = fmaxf(maximum_[half], lanes_max<4>(newest) * scale_log2_[half]);
        // A row that has seen no token yet: any finite offset makes all its weights 0 rather than NaN.
        const float offset = maximum_now == negative_infinity() ? 0.0f : maximum_now;
        const float correction = exp2_approx(maximum_[half] - offset);
        maximum_[half] = maximum_now;
        float sum = 0.0f;
        const int own = row() + 8 * half;
        const SharedAddress target = layout_.weights() + (lane_ & 3) * 4;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const float first = exp2_approx(scores[tile].r[2 * half] * scale_log2_[half] - offset);
          const float second = exp2_approx(scores[tile].r[2 * half + 1] * scale_log2_[half] - offset);
          sum += first + second;
          store_shared_4(target + swizzled<kBlockRowBytes>(own, buffer_.index * kTiles + tile),
                         pack2<Product>(first, second));
        }
        sum_[half] = sum_[half] * correction + sum;
        if ((lane_ & 3) == 0) store_shared_float(layout_.factor(buffer_.index, own), correction);
      }
    }
    hand_on();
  }

  // What makes a row of its sums, and its log-sum-exp.
  __device__ void end() {
    mbarrier_wait(layout_.weights_empty(buffer_.index), buffer_.phase ^ 1);
    if (has_rows()) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float total = lanes_sum<4>(sum_[half]);
        if ((lane_ & 3) == 0) {
          const int own = row() + 8 * half;
          store_shared_float(layout_.factor(buffer_.index, own),
                             total > 0.0f ? reciprocal_approx(total) : 0.0f);
          store_shared_float(layout_.lse(buffer_.index, own),
                             total > 0.0f ? maximum_[half] + log2_approx(total) : negative_infinity());
        }
      }
    }
    hand_on();
  }

  __device__ void hand_on() {
    fence_async_proxy();
    __syncwarp();
    if (lane_ == 0) mbarrier_arrive(layout_.weights_full(buffer_.index));
    buffer_.advance();
  }

  const SharedLayout& layout_;
  int warp_;
  int lane_;
  float softmax_scale_log2_;
  float scale_log2_[2] = {};
  int seen_by_all_ = 0;
  int visible_[2] = {};
  float maximum_[2] = {};
  float sum_[2] = {};
  RingPlace<kPlaces> place_;
  RingPlace<2> buffer_;
  unsigned q_phase_ = 0;
};

}  // namespace cubinet::attention
