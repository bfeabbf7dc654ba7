// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"
#include "support/ok.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cubinet {
namespace {

using test::ok;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

AttentionMerge::Problem problem_of(std::uint32_t heads, std::uint32_t head_dim) {
  AttentionMerge::Problem problem;
  problem.heads = heads;
  problem.head_dim = head_dim;
  return problem;
}

TEST_CASE("attention over both halves of the KV, merged, is attention over all of it") {
  AttentionProblem problem = test::generation(3, 1, 200, 4, 2, 64, 64);
  problem.tokens_per_page = 16;
  problem.mask = AttentionMask::dense;
  const AttentionInputs all = ok(make_attention_inputs(problem, {200, 97, 16}, 5));
  const AttentionOutputs whole = ok(attention_reference(problem, all));
  AttentionInputs first = all;
  AttentionInputs second = all;
  // Pages of 16 tokens: the second part's page table begins where the first part ends.
  const std::size_t pages = problem.pages_per_sequence();
  for (std::size_t b = 0; b < 3; ++b) {
    first.kv_lengths[b] = std::min(all.kv_lengths[b], 48);
    second.kv_lengths[b] = all.kv_lengths[b] - first.kv_lengths[b];
    const auto row = second.page_table.begin() + static_cast<std::ptrdiff_t>(b * pages);
    std::rotate(row, row + 3, row + static_cast<std::ptrdiff_t>(pages));
  }
  const AttentionMerge::Problem merge = problem_of(4, 64);
  const AttentionOutputs merged = merge_reference(merge, ok(attention_reference(problem, first)),
                                                  ok(attention_reference(problem, second)));
  REQUIRE(merged.o.size() == whole.o.size());
  for (std::size_t i = 0; i < whole.o.size(); ++i)
    CHECK(merged.o[i] == doctest::Approx(whole.o[i]).epsilon(1e-9));
  for (std::size_t i = 0; i < whole.lse.size(); ++i)
    CHECK(merged.lse[i] == doctest::Approx(whole.lse[i]).epsilon(1e-12));
}

TEST_CASE("a part that saw nothing has no weight, and two such parts are nothing") {
  const AttentionMerge::Problem problem = problem_of(1, 8);
  const AttentionOutputs nothing{std::vector<double>(8, std::nan("")), {kMinusInfinity}};
  const AttentionOutputs some{std::vector<double>(8, 3.0), {1.5}};
  for (const AttentionOutputs& merged :
       {merge_reference(problem, nothing, some), merge_reference(problem, some, nothing)}) {
    CHECK(merged.o == some.o);
    CHECK(merged.lse == some.lse);
  }
  const AttentionOutputs none = merge_reference(problem, nothing, nothing);
  CHECK(none.o == std::vector<double>(8, 0.0));
  CHECK(none.lse[0] == kMinusInfinity);
}

TEST_CASE("parts to merge have rows of every kind, and the values that their elements store") {
  for (const DataType type : {DataType::bf16, DataType::fp16, DataType::fp32}) {
    AttentionMerge::Problem problem = problem_of(3, 16);
    problem.data_type = type;
    const MergeInputs inputs = make_merge_inputs(problem, 500, 1);
    CHECK(inputs.first.o.size() == 500U * 3 * 16 * bits_of(type) / 8);
    CHECK(inputs.first.o != inputs.second.o);
    int nothing = 0;
    int neither = 0;
    for (std::size_t row = 0; row < inputs.first.lse.size(); ++row) {
      const bool first = std::isinf(inputs.first.lse[row]);
      const bool second = std::isinf(inputs.second.lse[row]);
      nothing += first != second ? 1 : 0;
      neither += first && second ? 1 : 0;
      CHECK(std::isnan(inputs.first.values.o[row * 16]) == first);
    }
    CHECK(nothing > 50);
    CHECK(neither > 2);
    CHECK(make_merge_inputs(problem, 500, 1).second.o == inputs.second.o);
  }
}

}  // namespace
}  // namespace cubinet
