// SPDX-License-Identifier: Apache-2.0
#include "tuning/timing_inputs.hpp"

#include "reference/sequence_rows.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <algorithm>
#include <numeric>
#include <random>

namespace cubinet {
namespace {

constexpr std::size_t kPatternElements = std::size_t{1} << 22;

// Returns random elements. Zeros would take less power than real values, so the clocks would be
// higher.
ElementBits pattern(std::size_t count, DataType type, std::mt19937& generator) {
  constexpr std::size_t kDistinct = 65'536;
  std::normal_distribution<float> normal;
  ElementBits values(std::min(count, kDistinct));
  for (std::uint16_t& value : values)
    value = from_float(normal(generator), type);
  // The rest repeats the values from random offsets, because close repetitions could be compressed
  // in transfer.
  while (values.size() < count) {
    const std::size_t begin = generator() % kDistinct;
    const std::size_t more = std::min(count - values.size(), kDistinct - begin);
    for (std::size_t i = 0; i < more; ++i)
      values.push_back(values[begin + i]);
  }
  return values;
}

}  // namespace

AttentionInputs timing_inputs(const AttentionProblem& problem) {
  std::mt19937 generator(1);
  AttentionInputs inputs;
  inputs.kv_lengths.assign(problem.batch, static_cast<std::int32_t>(problem.kv_len));
  if (problem.ragged_q) inputs.q_lengths.assign(problem.batch, static_cast<std::int32_t>(problem.q_len));
  const std::size_t tokens = std::size_t{problem.batch} * problem.q_len;
  if (problem.sinks) inputs.sinks.assign(problem.heads_q, 0);
  inputs.k_head_scales.assign(head_scale_count(problem), 1);
  inputs.v_head_scales = inputs.k_head_scales;
  if (problem.mask == AttentionMask::custom) inputs.mask.assign(tokens * problem.mask_words(), ~0U);
  inputs.q = pattern(tokens * problem.heads_q * problem.head_dim_qk, problem.data_type_q, generator);
  std::size_t kv_tokens = std::size_t{problem.batch} * problem.kv_len;
  if (problem.layout == QkvLayout::paged_kv) {
    const std::size_t entries = std::size_t{problem.batch} * problem.pages_per_sequence();
    inputs.pages = static_cast<std::int64_t>(entries);
    kv_tokens = entries * problem.tokens_per_page;
    std::vector<std::int32_t> pages(entries);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), generator);
    const std::size_t row = problem.pages_per_sequence();
    for (std::size_t b = 0; b < problem.batch; ++b) {
      // K's and V's pages of a sequence have the same numbers, in separate pools.
      for (std::size_t table = 0; table < page_table_rows(problem); ++table) {
        const auto begin = pages.begin() + static_cast<std::ptrdiff_t>(b * row);
        inputs.page_table.insert(inputs.page_table.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
      }
    }
  }
  const auto kv = [&](std::uint32_t head_dim, DataType type) {
    const std::size_t all = kv_tokens * problem.heads_kv * head_dim;
    const bool repeated = problem.layout == QkvLayout::paged_kv;
    return pattern(repeated ? std::min(all, kPatternElements) : all, type, generator);
  };
  inputs.k = kv(problem.head_dim_qk, problem.data_type_k);
  if (!problem.is_mla_generation()) inputs.v = kv(problem.head_dim_v, problem.data_type_v);
  return inputs;
}

AttentionInputs inputs_with_v_of_ones(const AttentionProblem& problem) {
  AttentionInputs inputs = timing_inputs(problem);
  std::fill(inputs.v.begin(), inputs.v.end(), from_float(1, problem.data_type_v));
  return inputs;
}

bool sums_may_differ(const AttentionPlan& plan) {
  return bits_of(plan.request.problem.data_type_q) == 8 &&
         plan.row.selector.kernel_type == KernelType::context;
}

}  // namespace cubinet
