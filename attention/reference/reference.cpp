// SPDX-License-Identifier: Apache-2.0
#include "reference/append_reference.hpp"
#include "reference/check_reference.hpp"
#include "sequence_rows.hpp"

#include <cubinet/attention/reference_values.hpp>
#include <cubinet/base/parallel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace cubinet {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

Error misfit(const std::string& what) {
  return Error{ErrorCode::invalid_argument, "attention reference: " + what + " does not fit the problem"};
}

Result<void> check_new_rows(const AttentionProblem& problem, const AttentionInputs& inputs,
                            std::size_t tokens) {
  const AttentionProblem::Append& append = *problem.append;
  if (inputs.new_q.size() != (problem.appends_q() ? inputs.q.size() : 0)) return misfit("the new Q");
  if (inputs.new_k.size() != tokens * problem.heads_kv * problem.head_dim_qk) return misfit("the new K");
  if (inputs.new_v.size() != tokens * problem.heads_kv * problem.head_dim_v) return misfit("the new V");
  if (inputs.positions.size() != (append.positions ? tokens : 0)) return misfit("the number of positions");
  const std::size_t least = append.positions ? 1 : problem.kv_len;
  if (append.rope_dim != 0 && inputs.cos_sin.size() < least * append.rope_dim)
    return misfit("the table of cosines and sines");
  return {};
}

Result<void> check_inputs(const AttentionProblem& problem, const AttentionInputs& inputs) {
  CUBINET_TRY(check_reference(problem, inputs.kv_lengths));
  CUBINET_TRY(check_q_lengths(problem, inputs.q_lengths));
  const SequenceRows rows(problem, inputs);
  const std::size_t kv_rows = rows.kv_tokens() * problem.heads_kv;
  if (inputs.q.size() != rows.q_tokens() * problem.heads_q * problem.head_dim_qk) return misfit("Q");
  if (inputs.k.size() != kv_rows * problem.head_dim_qk) return misfit("K");
  if (inputs.v.size() != (problem.is_mla_generation() ? 0 : kv_rows * problem.head_dim_v)) return misfit("V");
  if (problem.append) CUBINET_TRY(check_new_rows(problem, inputs, rows.q_tokens()));
  if (inputs.sinks.size() != (problem.sinks ? problem.heads_q : 0)) return misfit("the number of sinks");
  const std::size_t scales = head_scale_count(problem);
  if (inputs.k_head_scales.size() != scales || inputs.v_head_scales.size() != scales)
    return misfit("the number of scales of KV heads");
  const bool custom = problem.mask == AttentionMask::custom;
  if (inputs.mask.size() != (custom ? rows.q_tokens() * problem.mask_words() : 0)) return misfit("the mask");
  if (problem.layout != QkvLayout::paged_kv) return {};
  if (inputs.page_table.size() !=
      problem.batch * page_table_rows(problem) * std::size_t{problem.pages_per_sequence()})
    return misfit("the page table");
  for (const std::int32_t page : inputs.page_table) {
    if (page < 0 || page >= inputs.pages) return misfit("page " + std::to_string(page));
  }
  return {};
}

constexpr std::size_t kSums = 8;     // sums that stay in registers
constexpr std::size_t kTokens = 32;  // tokens of V that stay in the CPU's cache for all rows

// Adds products to kCount sums. The `count` factors are `step` apart and multiply rows of a matrix
// that are `width` apart. A factor of 0 skips its row, so NaN there is ignored.
template <std::size_t kCount>
void add_products(double* sums, const double* factors, std::size_t step, std::size_t count,
                  const double* matrix, std::size_t width) {
  std::array<double, kCount> added;
  std::copy_n(sums, kCount, added.begin());
  for (std::size_t i = 0; i < count; ++i) {
    const double factor = factors[i * step];
    if (factor == 0) continue;
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kCount; ++j)
      added[j] += factor * matrix[i * width + j];
  }
  std::copy_n(added.begin(), kCount, sums);
}

// Does the same for as many sums as the matrix has columns.
void add_products(std::span<double> sums, const double* factors, std::size_t step,
                  std::span<const double> matrix) {
  const std::size_t width = sums.size();
  const std::size_t count = matrix.size() / width;
  std::size_t i = 0;
  for (; i + kSums <= width; i += kSums)
    add_products<kSums>(sums.data() + i, factors, step, count, matrix.data() + i, width);
  for (; i < width; ++i)
    add_products<1>(sums.data() + i, factors, step, count, matrix.data() + i, width);
}

// Adjacent query tokens of one sequence and KV head.
struct QueryPart {
  std::size_t sequence = 0;
  std::size_t head_kv = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// The queries of a part that share one KV head. A row is query token * group + head, in the packing
// of the kernel.
class HeadGroup {
 public:
  HeadGroup(const AttentionProblem& problem, const AttentionInputs& inputs, const SequenceRows& places,
            const QueryPart& part)
      : problem_(problem),
        inputs_(inputs),
        places_(places),
        sequence_(part.sequence),
        head_kv_(part.head_kv),
        begin_(part.begin),
        rows_(std::size_t{problem.group_size()} * (part.end - part.begin)) {
    for (std::uint32_t token = part.begin; token < part.end; ++token) {
      const TokenRange range = places.visible(sequence_, token);
      visible_.insert(visible_.end(), problem.group_size(), range);
      first_ = token == part.begin ? range.begin : std::min(first_, range.begin);
      last_ = std::max(last_, range.end);
    }
  }

  void compute(AttentionOutputs& outputs) const {
    const auto tokens = static_cast<std::size_t>(std::max<std::int64_t>(last_ - first_, 0));
    std::vector<double> weights = logits(tokens);  // [token][row]
    const std::vector<RowSum> sums = to_weights(weights, tokens);
    const std::vector<double> o = weighted_sum(weights, tokens);
    const std::size_t dim = problem_.head_dim_v;
    const double output_scale =
        problem_.output_scale * head_scale(problem_, inputs_.v_head_scales, sequence_, head_kv_);
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::size_t target = output_row(row);
      const double scale = sums[row].weights == 0 ? 0 : output_scale / sums[row].weights;
      for (std::size_t i = 0; i < dim; ++i)
        outputs.o[target * dim + i] = o[row * dim + i] * scale;
      outputs.lse[target] = sums[row].lse();
    }
  }

 private:
  std::size_t output_row(std::size_t row) const {
    const std::size_t group = problem_.group_size();
    const std::size_t token = places_.q_begin(sequence_) + begin_ + row / group;
    return token * problem_.heads_q + head_kv_ * group + row % group;
  }

  static void load(const ElementBits& values, std::size_t offset, DataType type, std::span<double> row) {
    to_doubles(std::span(values).subspan(offset, row.size()), type, row);
  }

  std::vector<double> logits(std::size_t tokens) const {
    const std::size_t dim = problem_.head_dim_qk;
    // [element][row]: the inner loop runs over independent sums
    std::vector<double> q(dim * rows_);
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t i = 0; i < dim; ++i) {
        q[i * rows_ + row] = to_float(inputs_.q[output_row(row) * dim + i], problem_.data_type_q);
      }
    }
    std::vector<double> scores(tokens * rows_, 0.0);
    std::vector<double> k(dim);
    for (std::size_t t = 0; t < tokens; ++t) {
      const std::size_t token = static_cast<std::size_t>(first_) + t;
      load(inputs_.k, places_.k_row(sequence_, token, head_kv_), problem_.data_type_k, k);
      add_products(std::span(scores).subspan(t * rows_, rows_), k.data(), 1, q);
    }
    return scores;
  }

  std::uint32_t token_of(std::size_t row) const {
    return begin_ + static_cast<std::uint32_t>(row / problem_.group_size());
  }

  double capped(double logit) const {
    return problem_.soft_cap ? *problem_.soft_cap * std::tanh(logit / *problem_.soft_cap) : logit;
  }

  // Returns the sink, one more logit that has no V.
  double sink_of(std::size_t row) const {
    if (!problem_.sinks) return kMinusInfinity;
    const std::size_t group = problem_.group_size();
    return static_cast<double>(inputs_.sinks[head_kv_ * group + row % group]);
  }

  // The maximum that a row's weights are relative to, and their sum.
  struct RowSum {
    double highest = kMinusInfinity;
    double weights = 0;

    double lse() const { return weights == 0 ? kMinusInfinity : highest + std::log(weights); }
  };

  // Turns scores into softmax weights that are not yet divided by their sums. Processes the
  // contiguous rows of a token together.
  std::vector<RowSum> to_weights(std::vector<double>& weights, std::size_t tokens) const {
    const double scale = problem_.scale() * head_scale(problem_, inputs_.k_head_scales, sequence_, head_kv_);
    std::vector<RowSum> sums(rows_);
    for (std::size_t row = 0; row < rows_; ++row)
      sums[row].highest = sink_of(row);
    for (std::size_t t = 0; t < tokens; ++t) {
      const std::int64_t token = first_ + static_cast<std::int64_t>(t);
      for (std::size_t row = 0; row < rows_; ++row) {
        double& weight = weights[t * rows_ + row];
        const bool seen = token >= visible_[row].begin && token < visible_[row].end &&
                          !places_.hides(sequence_, token_of(row), token);
        weight = seen ? capped(weight * scale) : kMinusInfinity;
        sums[row].highest = std::max(sums[row].highest, weight);
      }
    }
    for (std::size_t row = 0; row < rows_; ++row) {
      const double sink = sink_of(row);
      if (sink != kMinusInfinity) sums[row].weights = std::exp(sink - sums[row].highest);
    }
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t row = 0; row < rows_; ++row) {
        double& weight = weights[t * rows_ + row];
        weight = weight == kMinusInfinity ? 0 : std::exp(weight - sums[row].highest);
        sums[row].weights += weight;
      }
    }
    return sums;
  }

  std::vector<double> weighted_sum(const std::vector<double>& weights, std::size_t tokens) const {
    const std::size_t dim = problem_.head_dim_v;
    std::vector<double> o(rows_ * dim, 0.0);
    std::vector<double> v;
    // In latent attention, V is the first columns of K.
    const bool latent = problem_.is_mla_generation();
    const ElementBits& values = latent ? inputs_.k : inputs_.v;
    const DataType type = latent ? problem_.data_type_k : problem_.data_type_v;
    for (std::size_t t = 0; t < tokens; t += kTokens) {
      v.resize(std::min(kTokens, tokens - t) * dim);
      for (std::size_t i = 0; i * dim < v.size(); ++i) {
        const std::size_t token = static_cast<std::size_t>(first_) + t + i;
        load(values, places_.v_row(sequence_, token, head_kv_), type, std::span(v).subspan(i * dim, dim));
      }
      for (std::size_t row = 0; row < rows_; ++row)
        add_products(std::span(o).subspan(row * dim, dim), weights.data() + t * rows_ + row, rows_, v);
    }
    return o;
  }

  const AttentionProblem& problem_;
  const AttentionInputs& inputs_;
  const SequenceRows& places_;
  std::size_t sequence_;
  std::size_t head_kv_;
  std::uint32_t begin_;  // first query token
  std::size_t rows_;
  std::vector<TokenRange> visible_;  // visible tokens of each row
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

// Divides the query tokens so that the logits of a part take at most about 64 MiB.
std::vector<QueryPart> query_parts(const AttentionProblem& problem, const SequenceRows& places) {
  constexpr std::uint64_t kMostLogits = std::uint64_t{1} << 23U;
  const std::uint64_t of_token = std::uint64_t{problem.group_size()} * problem.kv_len;
  const auto tokens =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kMostLogits / of_token, 1, kUnlimited));
  std::vector<QueryPart> parts;
  for (std::size_t sequence = 0; sequence < problem.batch; ++sequence) {
    const std::uint32_t end = places.q_length(sequence);
    for (std::size_t head = 0; head < problem.heads_kv; ++head) {
      for (std::uint32_t begin = 0; begin < end; begin += std::min(tokens, end - begin))
        parts.push_back({sequence, head, begin, begin + std::min(tokens, end - begin)});
    }
  }
  return parts;
}

// Returns the steps of e4m3 between a stored value and the rounded reference.
std::int64_t steps_of_e4m3(double value, double reference) {
  const auto place = [](double of) {
    const std::uint16_t bits = from_float(static_cast<float>(of), DataType::e4m3);
    return (bits & 0x80u) != 0 ? -std::int64_t{bits & 0x7fu} : std::int64_t{bits};
  };
  return std::abs(place(value) - place(reference));
}

// Returns how far an output may be from its value because its type has no number between: half of
// the smallest number of fp16, which is all that is left of a row whose sink has nearly all weight.
// That of the wider types is negligible, and outputs of e4m3 are compared in steps.
double rounding_near_zero(DataType type) {
  return type == DataType::fp16 ? 0x1p-25 : 0.0;
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

Result<AttentionInputs> append_reference(const AttentionProblem& problem, const AttentionInputs& inputs) {
  CUBINET_TRY(check_inputs(problem, inputs));
  AttentionInputs appended = inputs;
  append_new_rows(problem, appended);
  return appended;
}

Result<AttentionOutputs> attention_reference(const AttentionProblem& problem, const AttentionInputs& given,
                                             unsigned threads) {
  CUBINET_TRY(check_inputs(problem, given));
  std::optional<AttentionInputs> appended;
  if (problem.append) append_new_rows(problem, appended.emplace(given));
  const AttentionInputs& inputs = appended ? *appended : given;
  AttentionOutputs outputs;
  const SequenceRows places(problem, inputs);
  outputs.lse.resize(places.q_tokens() * problem.heads_q);
  outputs.o.resize(outputs.lse.size() * problem.head_dim_v);
  const std::vector<QueryPart> parts = query_parts(problem, places);
  parallel_for(parts.size(), threads,
               [&](std::size_t i) { HeadGroup(problem, inputs, places, parts[i]).compute(outputs); });
  return outputs;
}

Result<AttentionDeviation> compare_attention(const AttentionProblem& problem,
                                             const AttentionOutputs& reference, ByteView o,
                                             const std::vector<float>& lse) {
  const DataType type = problem.data_type_o;
  if (type != DataType::bf16 && type != DataType::fp16 && type != DataType::fp32 && type != DataType::e4m3)
    return misfit("data_type_o");
  if (o.size() != reference.o.size() * (bits_of(type) / 8)) return misfit("the output");
  if (!lse.empty() && lse.size() != reference.lse.size()) return misfit("the LSE");
  AttentionDeviation error;
  Distance all;
  const std::size_t dim = problem.head_dim_v;
  const double rounding = rounding_near_zero(type);
  for (std::size_t row = 0; row < reference.lse.size(); ++row) {
    Distance distance;
    for (std::size_t i = row * dim; i < (row + 1) * dim; ++i) {
      const double value = stored_element(o, i, type);
      distance.finite = distance.finite && std::isfinite(value);
      const double difference = std::max(std::abs(value - reference.o[i]) - rounding, 0.0);
      distance.difference += difference * difference;
      distance.reference += reference.o[i] * reference.o[i];
      if (type == DataType::e4m3)
        error.worst_steps = std::max(error.worst_steps, steps_of_e4m3(value, reference.o[i]));
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
