// SPDX-License-Identifier: Apache-2.0
#include "reference/check_reference.hpp"
#include "visible_range.hpp"

#include <cubinet/attention/reference_values.hpp>
#include <cubinet/base/parallel.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>

namespace cubinet {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

std::size_t output_rows(const AttentionProblem& problem) {
  return std::size_t{problem.batch} * problem.q_len * problem.heads_q;
}

Error misfit(const std::string& what) {
  return Error{ErrorCode::invalid_argument, "attention reference: " + what + " does not fit the problem"};
}

Result<void> check_inputs(const AttentionProblem& problem, const AttentionInputs& inputs) {
  CUBINET_TRY(check_reference(problem, inputs.kv_lengths));
  if (inputs.q.size() != output_rows(problem) * problem.head_dim_qk) return misfit("Q");
  const std::size_t pool_rows = static_cast<std::size_t>(std::max<std::int64_t>(inputs.pages, 0)) *
                                problem.tokens_per_page * problem.heads_kv;
  if (inputs.k.size() != pool_rows * problem.head_dim_qk) return misfit("K");
  if (inputs.v.size() != pool_rows * problem.head_dim_v) return misfit("V");
  if (inputs.page_table.size() != std::size_t{problem.batch} * problem.pages_per_sequence())
    return misfit("the page table");
  for (const std::int32_t page : inputs.page_table) {
    if (page < 0 || page >= inputs.pages) return misfit("page " + std::to_string(page));
  }
  return {};
}

// The queries that share one KV head of one sequence. Rows are query token * group + head, as the kernel
// packs them.
class HeadGroup {
 public:
  HeadGroup(const AttentionProblem& problem, const AttentionInputs& inputs, std::size_t sequence,
            std::size_t head_kv)
      : problem_(problem),
        inputs_(inputs),
        sequence_(sequence),
        head_kv_(head_kv),
        length_(inputs.kv_lengths[sequence]),
        rows_(std::size_t{problem.group_size()} * problem.q_len) {
    for (std::uint32_t token = 0; token < problem.q_len; ++token) {
      const TokenRange range = visible_range(problem, length_, token);
      visible_.insert(visible_.end(), problem.group_size(), range);
      first_ = token == 0 ? range.begin : std::min(first_, range.begin);
      last_ = std::max(last_, range.end);
    }
  }

  void compute(AttentionOutputs& outputs) const {
    const auto tokens = static_cast<std::size_t>(std::max<std::int64_t>(last_ - first_, 0));
    std::vector<double> weights = logits(tokens);  // [token][row]
    std::vector<double> lse(rows_, kMinusInfinity);
    for (std::size_t row = 0; row < rows_; ++row)
      lse[row] = to_weights(weights, tokens, row);
    const std::vector<double> o = weighted_sum(weights, tokens);
    const std::size_t dim = problem_.head_dim_v;
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t target = output_row(row);
      std::copy_n(o.begin() + static_cast<std::ptrdiff_t>(row * dim), dim,
                  outputs.o.begin() + static_cast<std::ptrdiff_t>(target * dim));
      outputs.lse[target] = lse[row];
    }
  }

 private:
  std::size_t output_row(std::size_t row) const {
    const std::size_t group = problem_.group_size();
    const std::size_t token = sequence_ * problem_.q_len + row / group;
    return token * problem_.heads_q + head_kv_ * group + row % group;
  }

  void load(const HalfBits& pool, DataType type, std::size_t token, std::vector<double>& values) const {
    const std::size_t page_size = problem_.tokens_per_page;
    const std::size_t entry = sequence_ * problem_.pages_per_sequence() + token / page_size;
    const std::size_t offset =
        pool_offset(problem_, inputs_.page_table[entry], token % page_size, head_kv_, values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = to_float(pool[offset + i], type);
  }

  std::vector<double> logits(std::size_t tokens) const {
    const std::size_t dim = problem_.head_dim_qk;
    std::vector<double> q(dim * rows_);  // [element][row]: the inner loop below is over independent sums
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t i = 0; i < dim; ++i) {
        q[i * rows_ + row] = to_float(inputs_.q[output_row(row) * dim + i], problem_.data_type_q);
      }
    }
    std::vector<double> scores(tokens * rows_, 0.0);
    std::vector<double> k(dim);
    for (std::size_t t = 0; t < tokens; ++t) {
      load(inputs_.k, problem_.data_type_k, static_cast<std::size_t>(first_) + t, k);
      double* const score = scores.data() + t * rows_;
      for (std::size_t i = 0; i < dim; ++i) {
        for (std::size_t row = 0; row < rows_; ++row)
          score[row] += k[i] * q[i * rows_ + row];
      }
    }
    return scores;
  }

  // Turns a row's scores into softmax weights; returns its log-sum-exp.
  double to_weights(std::vector<double>& weights, std::size_t tokens, std::size_t row) const {
    const auto scale = static_cast<double>(problem_.scale());
    double highest = kMinusInfinity;
    for (std::size_t t = 0; t < tokens; ++t) {
      double& weight = weights[t * rows_ + row];
      const std::int64_t token = first_ + static_cast<std::int64_t>(t);
      const bool seen = token >= visible_[row].begin && token < visible_[row].end;
      weight = seen ? weight * scale : kMinusInfinity;
      highest = std::max(highest, weight);
    }
    double sum = 0;
    for (std::size_t t = 0; t < tokens; ++t) {
      double& weight = weights[t * rows_ + row];
      weight = weight == kMinusInfinity ? 0 : std::exp(weight - highest);
      sum += weight;
    }
    if (sum == 0) return kMinusInfinity;
    for (std::size_t t = 0; t < tokens; ++t)
      weights[t * rows_ + row] /= sum;
    return highest + std::log(sum);
  }

  std::vector<double> weighted_sum(const std::vector<double>& weights, std::size_t tokens) const {
    const std::size_t dim = problem_.head_dim_v;
    std::vector<double> o(rows_ * dim, 0.0);
    std::vector<double> v(dim);
    for (std::size_t t = 0; t < tokens; ++t) {
      load(inputs_.v, problem_.data_type_v, static_cast<std::size_t>(first_) + t, v);
      for (std::size_t row = 0; row < rows_; ++row) {
        const double weight = weights[t * rows_ + row];
        if (weight == 0) continue;
        for (std::size_t i = 0; i < dim; ++i)
          o[row * dim + i] += weight * v[i];
      }
    }
    return o;
  }

  const AttentionProblem& problem_;
  const AttentionInputs& inputs_;
  std::size_t sequence_;
  std::size_t head_kv_;
  std::int64_t length_;
  std::size_t rows_;
  std::vector<TokenRange> visible_;  // of each row
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

double element(ByteView bytes, std::size_t index, DataType type) {
  if (type == DataType::fp32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return static_cast<double>(value);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * sizeof bits, sizeof bits);
  return static_cast<double>(to_float(bits, type));
}

struct Distance {
  double difference = 0;  // squared norms
  double reference = 0;
  bool finite = true;

  double relative() const {
    if (!finite) return std::numeric_limits<double>::infinity();
    if (reference > 0) return std::sqrt(difference / reference);
    return difference > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  }
};

}  // namespace

Result<AttentionOutputs> attention_reference(const AttentionProblem& problem, const AttentionInputs& inputs,
                                             unsigned threads) {
  CUBINET_TRY(check_inputs(problem, inputs));
  AttentionOutputs outputs;
  const std::size_t rows = output_rows(problem);
  outputs.o.resize(rows * problem.head_dim_v);
  outputs.lse.resize(rows);
  const std::size_t heads = problem.heads_kv;
  parallel_for(problem.batch * heads, threads,
               [&](std::size_t i) { HeadGroup(problem, inputs, i / heads, i % heads).compute(outputs); });
  return outputs;
}

Result<AttentionDeviation> compare_attention(const AttentionProblem& problem,
                                             const AttentionOutputs& reference, ByteView o,
                                             const std::vector<float>& lse) {
  const DataType type = problem.data_type_o;
  if (type != DataType::bf16 && type != DataType::fp16 && type != DataType::fp32)
    return misfit("data_type_o");
  if (o.size() != reference.o.size() * (bits_of(type) / 8)) return misfit("the output");
  if (!lse.empty() && lse.size() != reference.lse.size()) return misfit("the LSE");
  AttentionDeviation error;
  Distance all;
  const std::size_t dim = problem.head_dim_v;
  for (std::size_t row = 0; row < reference.lse.size(); ++row) {
    Distance distance;
    for (std::size_t i = row * dim; i < (row + 1) * dim; ++i) {
      const double value = element(o, i, type);
      distance.finite = distance.finite && std::isfinite(value);
      distance.difference += (value - reference.o[i]) * (value - reference.o[i]);
      distance.reference += reference.o[i] * reference.o[i];
    }
    if (distance.relative() > error.worst_row) {
      error.worst_row = distance.relative();
      error.worst_index = static_cast<std::int64_t>(row);
    }
    all.finite = all.finite && distance.finite;
    all.difference += distance.difference;
    all.reference += distance.reference;
    if (lse.empty()) continue;
    const auto value = static_cast<double>(lse[row]);
    const double apart = value == reference.lse[row] ? 0.0 : std::abs(value - reference.lse[row]);
    error.worst_lse =
        std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(error.worst_lse, apart);
  }
  error.all_rows = all.relative();
  return error;
}

}  // namespace cubinet
