// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/reference_values.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace cubinet {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

void store(float value, DataType type, Bytes& bytes) {
  const std::uint16_t narrow = type == DataType::fp32 ? std::uint16_t{0} : from_float(value, type);
  const std::size_t size = bits_of(type) / 8;
  bytes.resize(bytes.size() + size);
  std::memcpy(bytes.data() + bytes.size() - size,
              type == DataType::fp32 ? static_cast<const void*>(&value) : &narrow, size);
}

MergeInputs::Part random_part(const AttentionMerge::Problem& problem, std::uint32_t tokens,
                              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> value;
  std::normal_distribution<float> lse(8, 2);
  std::bernoulli_distribution empty(0.1);
  MergeInputs::Part part;
  const std::size_t rows = std::size_t{tokens} * problem.heads;
  part.o.reserve(rows * problem.head_dim * bits_of(problem.data_type) / 8);
  for (std::size_t row = 0; row < rows; ++row) {
    const bool nothing = empty(random);
    part.lse.push_back(nothing ? -std::numeric_limits<float>::infinity() : lse(random));
    for (std::uint32_t i = 0; i < problem.head_dim; ++i)
      store(nothing ? std::numeric_limits<float>::quiet_NaN() : value(random), problem.data_type, part.o);
  }
  part.values.lse.assign(part.lse.begin(), part.lse.end());
  for (std::size_t i = 0; i < rows * problem.head_dim; ++i)
    part.values.o.push_back(stored_element(part.o, i, problem.data_type));
  return part;
}

}  // namespace

MergeInputs make_merge_inputs(const AttentionMerge::Problem& problem, std::uint32_t tokens,
                              std::uint64_t seed) {
  return {random_part(problem, tokens, 2 * seed), random_part(problem, tokens, 2 * seed + 1)};
}

AttentionOutputs merge_reference(const AttentionMerge::Problem& problem, const AttentionOutputs& first,
                                 const AttentionOutputs& second) {
  AttentionOutputs merged;
  merged.o.resize(first.o.size());
  for (std::size_t row = 0; row < first.lse.size(); ++row) {
    const double highest = std::max(first.lse[row], second.lse[row]);
    double sum = 0;
    for (const AttentionOutputs* part : {&first, &second}) {
      if (part->lse[row] == kNothing) continue;
      const double weight = std::exp(part->lse[row] - highest);
      sum += weight;
      for (std::size_t i = row * problem.head_dim; i < (row + 1) * problem.head_dim; ++i)
        merged.o[i] += weight * part->o[i];
    }
    merged.lse.push_back(sum == 0 ? kNothing : highest + std::log(sum));
    for (std::size_t i = row * problem.head_dim; sum != 0 && i < (row + 1) * problem.head_dim; ++i)
      merged.o[i] *= problem.output_scale / sum;
  }
  return merged;
}

Result<AttentionDeviation> compare_merge(const AttentionMerge::Problem& problem, const MergeInputs& inputs,
                                         ByteView o, const std::vector<float>& lse) {
  AttentionProblem rows;
  rows.head_dim_v = problem.head_dim;
  rows.data_type_o = problem.data_type_o;
  return compare_attention(rows, merge_reference(problem, inputs.first.values, inputs.second.values), o, lse);
}

}  // namespace cubinet
