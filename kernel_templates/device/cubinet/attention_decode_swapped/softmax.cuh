// SPDX-License-Identifier: Apache-2.0
#pragma once
// The online softmax of `attention_decode_swapped`. The columns of the products are rows of Q; each
// row spans the tokens of all warps.
#include <cubinet/attention/masks.cuh>
#include <cubinet/attention_decode_swapped/product.cuh>

namespace cubinet::attention_decode_swapped {

// The running softmax and output of the lane's two rows of each eight.
struct ColumnState {
  // The offsets of the weights, equal in all warps: 2^4 above the largest base-2 logit at the time
  // they were set, or kNothing.
  float2 offset[kOffsetsInRegisters ? kTilesN : 1];
  float2 sum[kTilesN];  // this lane's part
  Output output;

  // A finite number below every logit, so the weights of hidden tokens are 0 and not NaN.
  static constexpr float kNothing = -1e30f;

  __device__ ColumnState() : sum{}, output{} {
#pragma unroll
    for (int tile = 0; tile < (kOffsetsInRegisters ? kTilesN : 1); ++tile)
      offset[tile] = make_float2(kNothing, kNothing);
  }
};

class ColumnSoftmax {
 public:
  // All threads must call it, before a barrier. `scale_log2` converts all logits to base 2.
  __device__ ColumnSoftmax(const AttentionDecodeParameters& p, const SharedLayout& layout, float scale_log2)
      : layout_(layout), scale_{scale_log2, scale_log2}, soft_cap_(p, scale_) {
    const ThreadIndex index;
    if (index.thread == 0) store_shared_4(layout.flag(), 0);
    if (!kOffsetsInRegisters && index.thread < tile_size_q)
      store_shared_float(layout.offset(index.thread), ColumnState::kNothing);
    offsets_ = layout.offset(index.lane % 4 * 2);
  }

  __device__ void cap(Scores& scores) const {
#pragma unroll
    for (int tile = 0; tile < kTilesN; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[tile].r[i] = soft_cap_.bounded(scores[tile].r[i], 0);
    }
  }

  // Updates the running sum with a slice and stores its weights, for all warps, at the lane's
  // address `weights`. The offsets change only for the first slice, or if a weight would be too
  // large. Otherwise the warps need not exchange maxima, and synchronize only at the barrier that
  // they need anyway.
  __device__ void update(ColumnState& state, const Scores& scores, SharedAddress weights,
                         bool is_first) const {
#pragma unroll 1
    for (bool is_raised = false;; is_raised = true) {
      if (is_raised || !is_first) {
        add(state, scores, weights);
        if (is_raised || load_shared_4(layout_.flag()) == 0) return;
      }
      raise_offsets(state, scores, is_first);
    }
  }

 private:
  // fp16 weights from 2^-14 to 2^15 are as exact as 1. A logit may grow that far before the weights
  // need another offset, for which all warps must synchronize. Smaller weights lose digits, but
  // they are 2^10 below the largest.
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

  __device__ void exponentials(const ColumnState& state, const Scores& scores, int tile,
                               Exponentials& e) const {
    const float2 offset = offset_of(state, tile);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      e[i] = exp2_approx(fmaf(scores[tile].r[i], scale_[0], -(i % 2 == 0 ? offset.x : offset.y)));
  }

  __device__ void add(ColumnState& state, const Scores& scores, SharedAddress weights) const {
    unsigned largest = 0;
    Exponentials e[4];  // a pair of tiles, and the next pair
    exponentials(state, scores, 0, e[0]);
    exponentials(state, scores, 1, e[1]);
#pragma unroll
    for (int pair = 0; pair < kTilesN / 2; ++pair) {
      // The compiler moves nothing across a store, so computations that should overlap with the
      // store precede it.
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

  // Raises the offsets to the largest logits. Undoes the effect of `add` unless this is the first
  // slice.
  __device__ void raise_offsets(ColumnState& state, const Scores& scores, bool is_first) const {
    const ThreadIndex index;
#pragma unroll
    for (int tile = 0; tile < kTilesN; ++tile) {
      const float2 newest =
          make_float2(largest_of_column(fmaxf(scores[tile].r[0], scores[tile].r[2])) * scale_[0],
                      largest_of_column(fmaxf(scores[tile].r[1], scores[tile].r[3])) * scale_[0]);
      if (index.lane < 4)
        store_shared_floats(layout_.exchange(index.warp, tile * 8 + index.lane * 2), newest.x, newest.y);
    }
    __syncthreads();
    reduce_over_warps(index);
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
      const float2 newest = load_shared_floats(layout_.exchange(0, tile * 8 + index.lane % 4 * 2));
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
      if (index.thread < tile_size_q)
        store_shared_float(layout_.offset(index.thread),
                           fmaxf(load_shared_float(layout_.offset(index.thread)),
                                 load_shared_float(layout_.exchange(0, index.thread))));
      __syncthreads();
    }
  }

  // Finds the largest logit of each row, one row per thread. Clears the flag, which all threads
  // have read.
  __device__ void reduce_over_warps(const ThreadIndex& index) const {
    const int row = index.thread;
    if (row == 0) store_shared_4(layout_.flag(), 0);
    if (row >= tile_size_q) return;
    float largest = load_shared_float(layout_.exchange(0, row));
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp)
      largest = fmaxf(largest, load_shared_float(layout_.exchange(warp, row)));
    store_shared_float(layout_.exchange(0, row), largest + kAbove);
  }

  // Returns `sum` without `added`. If `added` made the sum infinite, the sum before was smaller
  // than the last digit of a float, so it returns 0. NaN stays NaN.
  __device__ static float without(float sum, float added) {
    return sum > 1e38f ? 0.0f : sum - added;
  }

  // Returns the largest value of the eight lanes that hold tokens of the same rows.
  __device__ static float largest_of_column(float value) {
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2)
      value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
    return value;
  }

  SharedLayout layout_;
  SharedAddress offsets_ = 0;
  float scale_[2];
  SoftCap<soft_cap> soft_cap_;
};

}  // namespace cubinet::attention_decode_swapped
