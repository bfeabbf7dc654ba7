// SPDX-License-Identifier: Apache-2.0
#include "append_reference.hpp"

#include "sequence_rows.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace cubinet {
namespace {

// Computes the rows that the append stores. Sums and products are of floats, each rounded to
// nearest even. A rotated element is one product and one fused multiply-add. This defines the
// result, so that implementations agree to the bit.
class NewRows {
 public:
  NewRows(const AttentionProblem& problem, const AttentionInputs& inputs)
      : append_(*problem.append), columns_(append_.rope_dim), cos_sin_(inputs.cos_sin) {}

  // Returns the angles of a position, or nullptr if nothing is rotated.
  const float* angles(std::int64_t position) const {
    if (columns_ == 0) return nullptr;
    const auto last = static_cast<std::int64_t>(cos_sin_.size() / columns_) - 1;
    return cos_sin_.data() + static_cast<std::size_t>(std::clamp<std::int64_t>(position, 0, last)) * columns_;
  }

  void store(std::span<const std::uint16_t> row, const float* angles, DataType type, float scale,
             std::span<std::uint16_t> target) const {
    std::vector<float> values(row.size());
    std::transform(row.begin(), row.end(), values.begin(),
                   [this](std::uint16_t bits) { return to_float(bits, append_.data_type); });
    const std::size_t half = angles == nullptr ? 0 : columns_ / 2;
    for (std::size_t i = 0; i < half; ++i) {
      float& x = values[append_.interleaved ? 2 * i : i];
      float& y = values[append_.interleaved ? 2 * i + 1 : i + half];
      const float turned = std::fmaf(x, angles[i], -(y * angles[half + i]));
      y = std::fmaf(x, angles[half + i], y * angles[i]);
      x = turned;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool as_it_is = type == append_.data_type && i >= 2 * half;
      const float value = type == append_.data_type ? values[i] : values[i] / scale;
      target[i] = as_it_is ? row[i] : from_float(value, type);
    }
  }

 private:
  const AttentionProblem::Append& append_;
  std::size_t columns_;  // rotated columns
  const std::vector<float>& cos_sin_;
};

}  // namespace

void append_new_rows(const AttentionProblem& problem, AttentionInputs& inputs) {
  const AttentionProblem::Append& append = *problem.append;
  const SequenceRows places(problem, inputs);
  const NewRows rows(problem, inputs);
  const auto row_of = [](auto& elements, std::size_t first, std::size_t count) {
    return std::span(elements).subspan(first, count);
  };
  for (std::size_t b = 0; b < problem.batch; ++b) {
    for (std::uint32_t i = 0; i < places.q_length(b); ++i) {
      const std::size_t token = places.q_begin(b) + i;
      const std::int64_t place = std::int64_t{inputs.kv_lengths[b]} - places.q_length(b) + i;
      const float* const angles = rows.angles(append.positions ? inputs.positions[token] : place);
      for (std::size_t head = 0; problem.appends_q() && head < problem.heads_q; ++head) {
        const std::size_t first = (token * problem.heads_q + head) * problem.head_dim_qk;
        rows.store(row_of(inputs.new_q, first, problem.head_dim_qk), angles, problem.data_type_q,
                   static_cast<float>(append.q_scale), row_of(inputs.q, first, problem.head_dim_qk));
      }
      for (std::size_t head = 0; place >= 0 && head < problem.heads_kv; ++head) {
        const std::size_t row = token * problem.heads_kv + head;
        const auto at = static_cast<std::size_t>(place);
        rows.store(row_of(inputs.new_k, row * problem.head_dim_qk, problem.head_dim_qk), angles,
                   problem.data_type_k,
                   static_cast<float>(append.k_scale) * head_scale(problem, inputs.k_head_scales, b, head),
                   row_of(inputs.k, places.k_row(b, at, head), problem.head_dim_qk));
        rows.store(row_of(inputs.new_v, row * problem.head_dim_v, problem.head_dim_v), nullptr,
                   problem.data_type_v,
                   static_cast<float>(append.v_scale) * head_scale(problem, inputs.v_head_scales, b, head),
                   row_of(inputs.v, places.v_row(b, at, head), problem.head_dim_v));
      }
    }
  }
}

}  // namespace cubinet
