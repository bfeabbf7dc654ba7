// SPDX-License-Identifier: Apache-2.0
#include "visible_range.hpp"

#include <cubinet/attention/decode_reference.hpp>
#include <cubinet/base/parallel.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>

namespace cubinet {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

std::size_t product(std::initializer_list<std::int64_t> factors) {
  std::size_t result = 1;
  for (const std::int64_t factor : factors)
    result *= static_cast<std::size_t>(factor);
  return result;
}

Error misfit(const std::string& what) {
  return Error{ErrorCode::invalid_argument, "decode reference: " + what + " does not fit the problem"};
}

Result<void> check_inputs(const DecodeProblem& problem, const DecodeInputs& inputs) {
  DecodeProblem checked = problem;
  checked.kv_lengths = inputs.kv_lengths;
  CUBINET_TRY(check(checked));
  const std::int64_t pool_rows = std::int64_t{problem.page_size} * problem.heads_kv;
  if (inputs.kv_lengths.empty()) return misfit("the number of lengths");
  if (inputs.q.size() != product({problem.batch, problem.q_len, problem.heads_q, problem.head_dim_qk}))
    return misfit("Q");
  if (inputs.pages < 0 || inputs.k.size() != product({inputs.pages, pool_rows, problem.head_dim_qk}))
    return misfit("K");
  if (inputs.v.size() != product({inputs.pages, pool_rows, problem.head_dim_v})) return misfit("V");
  if (inputs.page_table.size() != product({problem.batch, problem.pages_per_sequence()}))
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
  HeadGroup(const DecodeProblem& problem, const DecodeInputs& inputs, int sequence, int head_kv)
      : problem_(problem),
        inputs_(inputs),
        sequence_(sequence),
        head_kv_(head_kv),
        length_(inputs.kv_lengths[static_cast<std::size_t>(sequence)]),
        rows_(static_cast<std::size_t>(problem.group()) * static_cast<std::size_t>(problem.q_len)) {
    for (int token = 0; token < problem.q_len; ++token) {
      const TokenRange range = visible_range(problem, length_, token);
      visible_.insert(visible_.end(), static_cast<std::size_t>(problem.group()), range);
      first_ = token == 0 ? range.begin : std::min(first_, range.begin);
      last_ = std::max(last_, range.end);
    }
  }

  void compute(DecodeOutputs& outputs) const {
    const auto tokens = static_cast<std::size_t>(std::max(last_ - first_, 0));
    std::vector<double> weights = logits(tokens);  // [token][row]
    std::vector<double> lse(rows_, kMinusInfinity);
    for (std::size_t row = 0; row < rows_; ++row)
      lse[row] = to_weights(weights, tokens, row);
    const std::vector<double> o = weighted_sum(weights, tokens);
    const auto dim = static_cast<std::size_t>(problem_.head_dim_v);
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t target = output_row(row);
      std::copy_n(o.begin() + static_cast<std::ptrdiff_t>(row * dim), dim,
                  outputs.o.begin() + static_cast<std::ptrdiff_t>(target * dim));
      outputs.lse[target] = lse[row];
    }
  }

 private:
  std::size_t output_row(std::size_t row) const {
    const auto group = static_cast<std::size_t>(problem_.group());
    const auto token =
        static_cast<std::size_t>(sequence_) * static_cast<std::size_t>(problem_.q_len) + row / group;
    return token * static_cast<std::size_t>(problem_.heads_q) + static_cast<std::size_t>(head_kv_) * group +
           row % group;
  }

  void load(const HalfBits& pool, int token, std::vector<double>& values) const {
    const auto entry =
        static_cast<std::size_t>(sequence_) * static_cast<std::size_t>(problem_.pages_per_sequence()) +
        static_cast<std::size_t>(token / problem_.page_size);
    const std::size_t offset = pool_offset(problem_, inputs_.page_table[entry], token % problem_.page_size,
                                           head_kv_, static_cast<int>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = to_float(pool[offset + i], problem_.dtype_kv);
  }

  std::vector<double> logits(std::size_t tokens) const {
    const auto dim = static_cast<std::size_t>(problem_.head_dim_qk);
    std::vector<double> q(dim * rows_);  // [element][row]: the inner loop below is over independent sums
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t i = 0; i < dim; ++i) {
        q[i * rows_ + row] = to_float(inputs_.q[output_row(row) * dim + i], problem_.dtype_q);
      }
    }
    std::vector<double> scores(tokens * rows_, 0.0);
    std::vector<double> k(dim);
    for (std::size_t t = 0; t < tokens; ++t) {
      load(inputs_.k, first_ + static_cast<int>(t), k);
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
      const int token = first_ + static_cast<int>(t);
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
    const auto dim = static_cast<std::size_t>(problem_.head_dim_v);
    std::vector<double> o(rows_ * dim, 0.0);
    std::vector<double> v(dim);
    for (std::size_t t = 0; t < tokens; ++t) {
      load(inputs_.v, first_ + static_cast<int>(t), v);
      for (std::size_t row = 0; row < rows_; ++row) {
        const double weight = weights[t * rows_ + row];
        if (weight == 0) continue;
        for (std::size_t i = 0; i < dim; ++i)
          o[row * dim + i] += weight * v[i];
      }
    }
    return o;
  }

  const DecodeProblem& problem_;
  const DecodeInputs& inputs_;
  int sequence_;
  int head_kv_;
  int length_;
  std::size_t rows_;
  std::vector<TokenRange> visible_;  // of each row
  int first_ = 0;
  int last_ = 0;
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

Result<DecodeOutputs> decode_reference(const DecodeProblem& problem, const DecodeInputs& inputs,
                                       unsigned threads) {
  CUBINET_TRY(check_inputs(problem, inputs));
  DecodeOutputs outputs;
  const std::size_t rows = product({problem.batch, problem.q_len, problem.heads_q});
  outputs.o.resize(rows * static_cast<std::size_t>(problem.head_dim_v));
  outputs.lse.resize(rows);
  const auto heads = static_cast<std::size_t>(problem.heads_kv);
  parallel_for(static_cast<std::size_t>(problem.batch) * heads, threads, [&](std::size_t i) {
    HeadGroup(problem, inputs, static_cast<int>(i / heads), static_cast<int>(i % heads)).compute(outputs);
  });
  return outputs;
}

Result<DecodeError> compare_decode(const DecodeProblem& problem, const DecodeOutputs& reference, ByteView o,
                                   const std::vector<float>& lse) {
  const DataType type = problem.dtype_o;
  if (type != DataType::bf16 && type != DataType::fp16 && type != DataType::fp32) return misfit("dtype_o");
  if (o.size() != reference.o.size() * (bits_of(type) / 8)) return misfit("the output");
  if (!lse.empty() && lse.size() != reference.lse.size()) return misfit("the LSE");
  DecodeError error;
  Distance all;
  const auto dim = static_cast<std::size_t>(problem.head_dim_v);
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
