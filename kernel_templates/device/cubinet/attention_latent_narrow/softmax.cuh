// SPDX-License-Identifier: Apache-2.0
#pragma once
// The online softmax of `attention_latent_narrow`.
#include <cubinet/attention_latent_narrow/layout.cuh>
#include <cubinet/types.cuh>

namespace cubinet::attention_latent_narrow {

// The warpgroup that computes the softmax weights from the scores. Eight lanes share a row; each
// has two groups of four tokens of a step.
class SoftmaxWarpgroup {
 public:
  __device__ SoftmaxWarpgroup(const AttentionDecodeParameters& p, const SharedLayout& layout)
      : p_(p), layout_(layout), row_(threadIdx.x % kWarpgroup / kLanes), lane_(threadIdx.x % kLanes) {
    softmax_scale_log2_ = softmax_scale_log2(p);
  }

  __device__ void process(const SentItem& sent) {
    const PackedRows rows = WorkDivision::rows_of(p_, sent.item);
    const ItemTokens tokens(p_, sent.item, rows);
    const int steps = tokens.steps();
    const int visible = VisibleOf<Shape>::to_token(p_, sent.item.sequence, rows.token(row_)).end;
    scale_log2_ = softmax_scale_log2_ * k_scale<Shape::kHasHeadScales>(p_, sent.item.sequence.index, 0);
    maximum_ = negative_infinity();
    sum_ = 0.0f;
#pragma unroll 1
    for (int i = 0; i < steps; ++i)
      update(visible - (tokens.begin + i * kSlice));
    finish();
  }

 private:
  static constexpr int kLanes = 8;
  static constexpr int kParts = 2;  // groups of four tokens

  // Updates the running maximum and sum with a step, and sends its weights. The first `visible`
  // tokens of the step are not hidden.
  __device__ void update(int visible) {
    mbarrier_wait(layout_.scores_full(scores_.index), scores_.phase);
    float scores[4 * kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      Vector16<fp32>::unpack(load_shared_16(layout_.scores(scores_.index, row_, first(part))),
                             scores + 4 * part);
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(layout_.scores_empty(scores_.index));
    scores_.advance();
    if (visible < kSlice) {
#pragma unroll
      for (int i = 0; i < 4 * kParts; ++i) {
        if (first(i / 4) + i % 4 >= visible) scores[i] = negative_infinity();
      }
    }
    float newest = scores[0];
#pragma unroll
    for (int i = 1; i < 4 * kParts; ++i)
      newest = fmaxf(newest, scores[i]);
    // The product is rounded to a float before the subtraction, as in RowStateOf.
    const float maximum_now = fmaxf(maximum_, lanes_max<kLanes>(newest) * scale_log2_);
    // Any finite offset makes all weights 0, and not NaN, if the row has seen no token yet.
    const float offset = maximum_now == negative_infinity() ? 0.0f : maximum_now;
    const float correction = exp2_approx(maximum_ - offset);
    maximum_ = maximum_now;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4 * kParts; ++i) {
      scores[i] = exp2_approx(scores[i] * scale_log2_ - offset);
      sum += scores[i];
    }
    sum_ = sum_ * correction + sum;
    mbarrier_wait(layout_.weights_empty(weights_.index), weights_.phase ^ 1);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const float* const four = scores + 4 * part;
      store_shared_8(layout_.weights(weights_.index, row_, first(part) / 8) + first(part) % 8 * 2,
                     pack2<Product>(four[0], four[1]), pack2<Product>(four[2], four[3]));
    }
    if (lane_ == 0) store_shared_float(layout_.factor(weights_.index, row_), correction);
    send();
  }

  // Sends the factor that normalises a row, and its base-2 LSE.
  __device__ void finish() {
    const float total = lanes_sum<kLanes>(sum_);
    mbarrier_wait(layout_.weights_empty(weights_.index), weights_.phase ^ 1);
    if (lane_ == 0) {
      store_shared_float(layout_.factor(weights_.index, row_),
                         total != 0.0f ? reciprocal_approx(total) : 0.0f);
      store_shared_float(layout_.lse(weights_.index, row_),
                         total != 0.0f ? maximum_ + log2_approx(total) : negative_infinity());
    }
    send();
  }

  // Returns the first token of this lane in a part of a step.
  __device__ int first(int part) const {
    return part * (kSlice / kParts) + lane_ * 4;
  }

  __device__ void send() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(layout_.weights_full(weights_.index));
    weights_.advance();
  }

  const AttentionDecodeParameters& p_;
  const SharedLayout& layout_;
  int row_;
  int lane_;
  float softmax_scale_log2_;
  float scale_log2_;  // of the work item
  float maximum_ = 0.0f;
  float sum_ = 0.0f;  // this lane's part
  PipelineState<kBuffers> scores_;
  PipelineState<kBuffers> weights_;
};

}  // namespace cubinet::attention_latent_narrow
