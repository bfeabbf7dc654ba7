// SPDX-License-Identifier: Apache-2.0
#pragma once
// The online softmax of `attention_wide` if the weights of a step are computed once. kLanes
// adjacent lanes share a row. They store its weights, and the correction of its accumulators, to
// shared memory.
#include <cubinet/attention/masks.cuh>
#include <cubinet/attention_wide/product.cuh>

namespace cubinet::attention_wide {

class SharedWeights {
  using Visible = VisibleOf<Shape>;

 public:
  static constexpr int kLanes = Shape::kThreads / tile_size_q;
  static constexpr int kTokens = tile_size_kv / kLanes;  // tokens of a step that a lane processes

  __device__ SharedWeights(const AttentionDecodeParameters& p, const PackedRows& rows,
                           const Sequence& sequence, float scale_log2, SharedAddress memory)
      : scale_log2_{scale_log2, scale_log2},
        soft_cap_(p, scale_log2_),
        visible_(Visible::to_token(p, sequence, rows.token(row()))),
        draft_mask_(p, sequence, rows, row()),
        memory_(memory) {}

  __device__ static int row() { return threadIdx.x / kLanes; }

  // Updates the running maximum and sum with a step, and stores the weights of the step.
  // `seen_by_all` is true if every row sees all tokens of the step.
  __device__ void update(const WideProduct& product, int step, int token, bool seen_by_all) {
    const int first = threadIdx.x % kLanes * kTokens;
    const SharedAddress source = product.logits(step) + (row() * kLogitStride + first) * 4;
    float scores[kTokens];
#pragma unroll
    for (int i = 0; i < kTokens; i += 2) {
      float2 sum = load_shared_floats(source + i * 4);
#pragma unroll
      for (int part = 1; part < kWarpsDim; ++part) {
        const float2 other = load_shared_floats(source + (part * tile_size_q * kLogitStride + i) * 4);
        sum = make_float2(sum.x + other.x, sum.y + other.y);
      }
      scores[i] = soft_cap_.bounded(sum.x, 0);
      scores[i + 1] = soft_cap_.bounded(sum.y, 0);
    }
    if (!seen_by_all) {
#pragma unroll
      for (int i = 0; i < kTokens; ++i) {
        const int of = token + first + i;
        bool seen = visible_.holds(of);
        if constexpr (Shape::kCustomMask) seen = seen && !draft_mask_.hides(0, of);
        if (!seen) scores[i] = negative_infinity();
      }
    }
    float newest = scores[0];
#pragma unroll
    for (int i = 1; i < kTokens; ++i)
      newest = fmaxf(newest, scores[i]);
    // The product is rounded to a float before the subtraction, as in RowStateOf.
    const float maximum_now = fmaxf(maximum_, lanes_max<kLanes>(newest) * scale_log2_[0]);
    // Any finite offset makes all weights 0, and not NaN, if the row has seen no token yet.
    const float offset = maximum_now == negative_infinity() ? 0.0f : maximum_now;
    const float correction = exp2_approx(maximum_ - offset);
    maximum_ = maximum_now;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
      scores[i] = exp2_approx(scores[i] * scale_log2_[0] - offset);
      sum += scores[i];
    }
    sum_ = sum_ * correction + sum;
#pragma unroll
    for (int i = 0; i < kTokens; i += 2)
      store_shared_4(weights(step) + row() * kWeightStride + (first + i) * int{sizeof(Product)},
                     pack2<Product>(scores[i], scores[i + 1]));
    if (first == 0) store_shared_float(corrections(step) + 4 * row(), correction);
  }

  // Loads the weights of a slice of a step, as the left operands of P V.
  __device__ void load(Weights (&of_tiles)[kRowTiles], int step, int slice, int lane) const {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < kSlice / 16; ++i)
        load_matrix_x4(of_tiles[tile].steps[i].r, weights(step) +
                                                      (tile * kWarpRows + lane % 16) * kWeightStride +
                                                      lane / 16 * 16 + (slice * (kSlice / 16) + i) * 32);
    }
  }

  // Corrects the accumulators. After a few steps the maximum is stable and no correction is needed.
  __device__ void correct(WideState& state, int step, int lane) const {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
      const SharedAddress of_rows = corrections(step) + 4 * (tile * kWarpRows + lane / 4);
      const float correction[2] = {load_shared_float(of_rows), load_shared_float(of_rows + 32)};
      if (!__any_sync(kAllLanes, correction[0] != 1.0f || correction[1] != 1.0f)) continue;
#pragma unroll
      for (int i = 0; i < kTilesV; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          state.rows[tile].output[i].r[j] *= correction[j >> 1];
      }
    }
  }

  // Return the row's maximum, and its sum over all lanes.
  __device__ float maximum() const {
    return maximum_;
  }
  __device__ float sum() const {
    return lanes_sum<kLanes>(sum_);
  }

 private:
  __device__ SharedAddress weights(int step) const {
    return memory_ + (step & 1) * kWeightBytes;
  }
  __device__ SharedAddress corrections(int step) const {
    return weights(step) + tile_size_q * kWeightStride;
  }

  float scale_log2_[2];
  SoftCap<soft_cap> soft_cap_;
  Visible::Range visible_;
  DraftMask draft_mask_;
  SharedAddress memory_;
  float maximum_ = negative_infinity();
  float sum_ = 0.0f;  // this lane's part
};

}  // namespace cubinet::attention_wide
