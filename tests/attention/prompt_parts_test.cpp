// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/attention/prompt_parts.hpp>
#include <cubinet/attention/reference_values.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace cubinet {
namespace {

using test::ok;

constexpr std::uint32_t kPage = 8;

AttentionProblem small_problem() {
  AttentionProblem problem;
  problem.batch = 2;
  problem.kv_len = 30;
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.head_dim_qk = problem.head_dim_v = 16;
  problem.tokens_per_page = kPage;
  problem.window = 12;
  problem.sinks = true;
  return problem;
}

// Returns the problem of a run that computes these parts.
AttentionProblem problem_of(const std::vector<PromptPart>& parts) {
  AttentionProblem problem = small_problem();
  problem.prefill = problem.ragged_q = true;
  problem.batch = static_cast<std::uint32_t>(parts.size());
  problem.q_len = problem.kv_len;
  return problem;
}

// Returns a reference as if a kernel had written it with an output of fp32.
OutputBits written(const AttentionOutputs& outputs) {
  std::vector<float> o(outputs.o.begin(), outputs.o.end());
  const auto bytes = std::as_bytes(std::span(o));
  return {Bytes(bytes.begin(), bytes.end()), std::vector<float>(outputs.lse.begin(), outputs.lse.end())};
}

Prompts fp32_prompts() {
  AttentionProblem problem = small_problem();
  problem.data_type_o = DataType::fp32;
  return ok(make_prompts(problem, 3, 1));
}

TEST_CASE("Parts of prompts have the results of the whole prompts") {
  const Prompts prompts = fp32_prompts();
  CHECK(prompts.problem.prefill);
  CHECK(prompts.problem.q_len == 30);
  const OutputBits whole = written(ok(attention_reference(prompts.problem, prompts.inputs, 1)));
  const std::vector<PromptPart> parts = {{1, 0, 5}, {0, 29, 30}, {1, 5, 30}, {0, 9, 17}};
  for (const KvOrder order : {KvOrder::nhd, KvOrder::hnd}) {
    for (const bool shares : {false, true}) {
      AttentionProblem problem = problem_of(parts);
      problem.kv_order = order;
      problem.data_type_o = DataType::fp32;
      const AttentionInputs inputs = inputs_of_parts(prompts, problem, parts, shares, 5);
      CHECK(inputs.kv_lengths == std::vector<std::int32_t>{5, 30, 30, 17});
      CHECK(inputs.q_lengths == std::vector<std::int32_t>{5, 1, 25, 8});
      const OutputBits outputs = written(ok(attention_reference(problem, inputs, 1)));
      CHECK(row_count(prompts, parts) == 39 * 4);
      CHECK(equal_rows(prompts, whole, parts, outputs) == 39 * 4);
    }
  }
}

TEST_CASE("Every row with another bit in its output or its log sum exp is counted") {
  const Prompts prompts = fp32_prompts();
  const std::vector<PromptPart> all = {{0, 0, 30}, {1, 0, 30}};
  const OutputBits whole = written(ok(attention_reference(prompts.problem, prompts.inputs, 1)));
  OutputBits other = whole;
  CHECK(equal_rows(prompts, whole, all, other) == 240);
  other.o[0] ^= std::byte{1};                   // of the first row
  other.o[16 * 4 * 7 + 63] ^= std::byte{0x80};  // of the eighth
  CHECK(equal_rows(prompts, whole, all, other) == 238);
  other.lse[7] += 1;
  CHECK(equal_rows(prompts, whole, all, other) == 238);
  other.lse[8] += 1;
  CHECK(equal_rows(prompts, whole, all, other) == 237);
  other.lse.clear();
  CHECK(equal_rows(prompts, whole, all, other) == 238);
}

TEST_CASE("Tokens that no row of a part sees are no numbers, and shared pages are the same ones") {
  const Prompts prompts = ok(make_prompts(small_problem(), 3, 1));
  const std::vector<PromptPart> parts = {{0, 29, 30}, {0, 28, 30}};
  const auto visible = [&](const AttentionInputs& inputs) {
    return std::count_if(inputs.k.begin(), inputs.k.end(),
                         [](std::uint16_t bits) { return !std::isnan(to_float(bits, DataType::bf16)); }) /
           (2 * 16);
  };
  const AttentionProblem problem = problem_of(parts);
  const AttentionInputs own = inputs_of_parts(prompts, problem, parts, false, 1);
  CHECK(own.pages == 1 + 4 + 4);
  CHECK(visible(own) == 12 + 13);
  CHECK(std::set<std::int32_t>(own.page_table.begin(), own.page_table.end()).size() == 8);
  const AttentionInputs shared = inputs_of_parts(prompts, problem, parts, true, 1);
  CHECK(shared.pages == 1 + 4);
  CHECK(visible(shared) == 13);
  CHECK(std::equal(shared.page_table.begin(), shared.page_table.begin() + 4, shared.page_table.begin() + 4));
}

TEST_CASE("Prompts of no tokens are refused") {
  AttentionProblem problem = small_problem();
  problem.kv_len = 0;
  CHECK(make_prompts(problem, 1).error().code == ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace cubinet
