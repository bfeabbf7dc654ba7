// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cubinet/types.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cubinet {

// Return the number that the bits of an element of bf16 or e4m3 are.
inline double number_of(std::uint16_t bits) {
  return double{float_of_bf16(bits)};
}
inline double number_of(std::uint8_t bits) {
  return double{float_of_e4m3(bits)};
}

// A row of the output and its LSE, computed with fp64 and without a soft cap. `Batch` is a batch of
// prefill or of latent attention.
class ExactRow {
 public:
  template <class Batch>
  ExactRow(const Batch& batch, int sequence, int token, int head)
      : output_(Batch::kColumnsV), scale_(batch.parameters().output_scale) {
    const int head_kv = batch.head_kv(head);
    const int position = batch.kv_len(sequence) - batch.q_len(sequence) + token;
    const int first = std::max(position + 1 - batch.sizes().window, 0);
    double sum = batch.sizes().has_sinks ? std::exp(double{batch.sink(head)}) : 0.0;
    const auto* const q = batch.q(sequence, token, head);
    for (int i = first; i <= position; ++i) {
      double logit = 0.0;
      const auto* const k = batch.k(sequence, i, head_kv);
      for (int column = 0; column < Batch::kColumnsQk; ++column)
        logit += number_of(q[column]) * number_of(k[column]);
      const double weight = std::exp2(logit * batch.parameters().softmax_scale_log2);
      sum += weight;
      const auto* const v = batch.v(sequence, i, head_kv);
      for (std::size_t column = 0; column < output_.size(); ++column)
        output_[column] += weight * number_of(v[column]);
    }
    for (double& element : output_)
      element *= sum == 0.0 ? 0.0 : scale_ / sum;
    lse_ = std::log(sum);
  }

  // Returns whether bf16 output and an LSE are this row, except for roundings: each weight and each
  // element of the output may differ by 2^-8 of it. Elements of V are at most 1.
  bool is_close(const std::uint16_t* output, float lse) const {
    if (std::isinf(lse_) ? double{lse} != lse_ : !(std::abs(lse_ - lse) < 1e-4)) return false;
    for (std::size_t i = 0; i < output_.size(); ++i) {
      const double difference = std::abs(output_[i] - float_of_bf16(output[i]));
      if (!(difference <= (scale_ + std::abs(output_[i])) / 256 + 1e-4)) return false;
    }
    return true;
  }

 private:
  std::vector<double> output_;
  double scale_;
  double lse_ = 0.0;
};

}  // namespace cubinet
