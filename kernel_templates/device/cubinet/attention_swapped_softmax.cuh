// SPDX-License-Identifier: Apache-2.0
#pragma once
// The softmax of the template `attention_decode_swapped`: columns are rows of Q, whose tokens all warps share.
#include <cubinet/attention_decode_softmax.cuh>
#include <cubinet/attention_swapped_product.cuh>

namespace cubinet::attention {

// The running softmax and output of the lane's two rows of each eight.
struct ColumnState {
  // What weights are relative to, the same for all warps: 2^4 above the largest base-2 logit when it was set, or kNothing.
  float2 offset[kOffsetsInRegisters ? kTilesN : 1];
  float2 sum[kTilesN];  // this lane's share
  Output output;

  static constexpr float kNothing = -1e30f;  // a finite number below every logit: weights of hidden tokens are 0, not NaN

  __device__ ColumnState() : sum{}, output{} {
#pragma unroll
    for (int tile = 0; tile < (kOffsetsInRegisters ? kTilesN : 1); ++tile)
      offset[tile] = make_float2(kNothing, kNothing);
  }
};

class ColumnSoftmax {
 public:
  // By all threads, before a barrier. `scale_log2`: of all logits.
  __device__ ColumnSoftmax(const AttentionDecodeParameters& p, const SharedLayout& layout, float scale_log2)
      : layout_(layout), scale_{scale_log2, scale_log2}, soft_cap_(p, scale_) {
    const ThreadPlace place;
    if (place.thread == 0) store_shared_4(layout.flag(), 0);
    if (!kOffsetsInRegisters && place.thread < tile_size_q)
      store_shared_float(layout.offset(place.thread), ColumnState::kNothing);
    offsets_ = layout.offset(place.lane % 4 * 2);
  }

  __device__ void cap(Scores& scores) const {
#pragma unroll
    for (int tile = 0; tile < kTilesN; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[tile].r[i] = soft_cap_.bounded(scores[tile].r[i], 0);
    }
  }

  // Takes the slice into the running sum, and hands its weights on to all warps, to the lane's place `weights`. What
  // they are relative to is changed only for the first and where a weight is too large for that: else warps need not
  // ask each other, but for the barrier that they pass anyway.
  __device__ void weigh(ColumnState& state, const Scores& scores, SharedAddress weights, bool is_first) const {
#pragma unroll 1
    for (bool is_raised = false;; is_raised = true) {
      if (is_raised || !is_first) {
        add(state, scores, weights);
        if (is_raised || load_shared_4(layout_.flag()) == 0) return;
      }
      raise(state, scores, is_first);
    }
  }

 private:
  // fp16 has weights as exact from 2^-14 to 2^15 as at 1: so far a logit may grow before weights become relative to
  // another, for which all warps have to meet. Those below, which lose digits, are 2^10 smaller than the largest.
  static constexpr unsigned kLargest = 0x7800;  // 2^15
  static constexpr float kAbove = 4.0f;

  __device__ float2 offset_of(const ColumnState& state, int tile) const {
    if constexpr (kOffsetsInRegisters) {
      return state.offset[tile];
    } else {
      return load_shared_floats(offsets_ + tile * (8 * 4));
    }
  }

  using Exponentials = float[4];

  __device__ void exponentials(const ColumnState& state, const Scores& scores, int tile, Exponentials& e) const {
    const float2 offset = offset_of(state, tile);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      e[i] = exp2_approx(fmaf(scores[tile].r[i], scale_[0], -(i % 2 == 0 ? offset.x : offset.y)));
  }

  __device__ void add(ColumnState& state, const Scores& scores, SharedAddress weights) const {
    unsigned largest = 0;
    Exponentials e[4];  // of a pair of tiles, and of the next
    exponentials(state, scores, 0, e[0]);
    exponentials(state, scores, 1, e[1]);
#pragma unroll
    for (int pair = 0; pair < kTilesN / 2; ++pair) {
      // Nothing passes a store: what is to run beside it stands before it.
#pragma unroll
      for (int tile = 2 * pair + 2; tile < 2 * pair + 4 && tile < kTilesN; ++tile)
        exponentials(state, scores, tile, e[tile % 4]);
      unsigned words[4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int tile = 2 * pair + i;
        const Exponentials& now = e[tile % 4];
        state.sum[tile].x += now[0] + now[2];
        state.sum[tile].y += now[1] + now[3];
        words[2 * i] = pack2<Product>(now[0], now[1]);
        words[2 * i + 1] = pack2<Product>(now[2], now[3]);
        largest = larger_fp16_pair(largest, larger_fp16_pair(words[2 * i], words[2 * i + 1]));
      }
      store_matrix_x4_transposed(weights + pair * (16 * 128), words);
    }
    if ((largest & 0xffffu) > kLargest || largest >> 16 > kLargest) store_shared_4(layout_.flag(), 1);
    fence_async_proxy();
    __syncthreads();
  }

  // Makes weights relative to the largest logits; takes back what `add` did, unless it is the first slice.
  __device__ void raise(ColumnState& state, const Scores& scores, bool is_first) const {
    const ThreadPlace place;
#pragma unroll
    for (int tile = 0; tile < kTilesN; ++tile) {
      const float2 newest = make_float2(largest_of_column(fmaxf(scores[tile].r[0], scores[tile].r[2])) * scale_[0],
                                        largest_of_column(fmaxf(scores[tile].r[1], scores[tile].r[3])) * scale_[0]);
      if (place.lane < 4)
        store_shared_floats(layout_.exchange(place.warp, tile * 8 + place.lane * 2), newest.x, newest.y);
    }
    __syncthreads();
    take_largest_of_warps(place);
    __syncthreads();
#pragma unroll
    for (int tile = 0; tile < kTilesN; ++tile) {
      if (!is_first) {
        Exponentials e;
        exponentials(state, scores, tile, e);
        state.sum[tile].x = without(state.sum[tile].x, e[0] + e[2]);
        state.sum[tile].y = without(state.sum[tile].y, e[1] + e[3]);
      }
      const float2 before = offset_of(state, tile);
      const float2 newest = load_shared_floats(layout_.exchange(0, tile * 8 + place.lane % 4 * 2));
      const float2 now = make_float2(fmaxf(before.x, newest.x), fmaxf(before.y, newest.y));
      const float2 factor = make_float2(exp2_approx(before.x - now.x), exp2_approx(before.y - now.y));
      if constexpr (kOffsetsInRegisters) state.offset[tile] = now;
      state.sum[tile].x *= factor.x;
      state.sum[tile].y *= factor.y;
#pragma unroll
      for (int m = 0; m < kTilesM; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          state.output[m][tile].r[i] *= i % 2 == 0 ? factor.x : factor.y;
      }
    }
    if constexpr (!kOffsetsInRegisters) {
      __syncthreads();
      if (place.thread < tile_size_q)
        store_shared_float(layout_.offset(place.thread), fmaxf(load_shared_float(layout_.offset(place.thread)),
                                                               load_shared_float(layout_.exchange(0, place.thread))));
      __syncthreads();
    }
  }

  // By a thread each row; the others have met the flag already.
  __device__ void take_largest_of_warps(const ThreadPlace& place) const {
    const int row = place.thread;
    if (row == 0) store_shared_4(layout_.flag(), 0);
    if (row >= tile_size_q) return;
    float largest = load_shared_float(layout_.exchange(0, row));
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp)
      largest = fmaxf(largest, load_shared_float(layout_.exchange(warp, row)));
    store_shared_float(layout_.exchange(0, row), largest + kAbove);
  }

  // Beside what made a sum infinite, what it was before is less than a float's last digit. NaN stays.
  __device__ static float without(float sum, float added) { return sum > 1e38f ? 0.0f : sum - added; }

  // Of the eight lanes that have tokens of the same rows.
  __device__ static float largest_of_column(float value) {
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2)
      value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
  }

  SharedLayout layout_;
  SharedAddress offsets_ = 0;
  float scale_[2];
  SoftCap<soft_cap> soft_cap_;
};

}  // namespace cubinet::attention
