// SPDX-License-Identifier: Apache-2.0
#include "reference/append_reference.hpp"

#include "problems.hpp"
#include "reference/sequence_rows.hpp"
#include "support/ok.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace cubinet {
namespace {

using test::ok;

AttentionProblem append_problem(DataType kv, std::uint32_t rope_dim, bool interleaved) {
  AttentionProblem problem = test::generation(4, 3, 100, 4, 2, 64, 32);
  problem.tokens_per_page = 16;
  problem.data_type_k = problem.data_type_v = kv;
  problem.append.emplace().rope_dim = rope_dim;
  problem.append->interleaved = interleaved;
  if (kv == DataType::e4m3) problem.append->k_scale = 0.03;
  return problem;
}

// A column of a rotated row, exactly.
double turned(const AttentionProblem& problem, const ElementBits& rows, std::size_t first, std::size_t column,
              double position) {
  const AttentionProblem::Append& append = *problem.append;
  const auto value = [&](std::size_t at) {
    return static_cast<double>(to_float(rows[first + at], append.data_type));
  };
  const std::size_t half = append.rope_dim / 2;
  if (column >= append.rope_dim) return value(column);
  const std::size_t pair = append.interleaved ? column / 2 : column % half;
  const bool second = append.interleaved ? column % 2 == 1 : column >= half;
  const std::size_t other = append.interleaved ? column ^ 1u : second ? column - half : column + half;
  const double angle = position * rope_frequencies(append.rope_dim)[pair];
  return value(column) * std::cos(angle) + (second ? 1 : -1) * value(other) * std::sin(angle);
}

TEST_CASE("what is appended is the rotated row in double precision, to half a step of what it is stored as") {
  for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
    for (const bool interleaved : {false, true}) {
      const AttentionProblem problem = append_problem(kv, 48, interleaved);
      const AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 17, 2, 0}, 5));
      const AttentionInputs appended = ok(append_reference(problem, inputs));
      const SequenceRows places(problem, inputs);
      const double step = kv == DataType::e4m3 ? 0x1p-4 : 0x1p-8;  // half of one, relative
      for (std::size_t token = 0; token < 9; ++token) {
        const std::size_t sequence = token / 3;
        const std::int64_t place = inputs.kv_lengths[sequence] - 3 + static_cast<std::int64_t>(token % 3);
        if (place < 0) continue;
        const std::size_t row = places.k_row(sequence, static_cast<std::size_t>(place), 1);
        for (std::size_t i = 0; i < 64; ++i) {
          const double wanted =
              turned(problem, inputs.new_k, (token * 2 + 1) * 64, i, static_cast<double>(place)) /
              problem.append->k_scale;
          const auto stored = static_cast<double>(to_float(appended.k[row + i], kv));
          CHECK(std::abs(stored - wanted) <= std::abs(wanted) * step * 1.001 + 0x1p-10);
        }
      }
    }
  }
}

TEST_CASE("an append writes the rows of new tokens and nothing else, none before a sequence begins") {
  const AttentionProblem problem = append_problem(DataType::bf16, 64, false);
  const AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 17, 2, 0}, 5));
  const AttentionInputs appended = ok(append_reference(problem, inputs));
  std::size_t changed = 0;
  for (std::size_t i = 0; i < inputs.v.size(); ++i)
    changed += inputs.v[i] != appended.v[i] ? 1U : 0U;
  CHECK(changed == (3 + 3 + 2) * 2 * 32);
  CHECK(inputs.page_table == appended.page_table);
  for (const std::uint16_t bits : appended.q)
    REQUIRE_FALSE(std::isnan(to_float(bits, DataType::bf16)));
}

TEST_CASE("rows of their own type that are not rotated stay as they are, bit by bit") {
  AttentionProblem problem = append_problem(DataType::bf16, 0, false);
  AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 17, 2, 0}, 5));
  inputs.new_k[0] = 0x7f81;  // a NaN that arithmetic would quieten
  CHECK(inputs.new_q.empty());
  const AttentionInputs appended = ok(append_reference(problem, inputs));
  CHECK(appended.q == inputs.q);
  CHECK(appended.k[SequenceRows(problem, inputs).k_row(0, 97, 0)] == 0x7f81);
}

TEST_CASE("rows of e4m3 are also divided by the scales of their sequence and KV head") {
  AttentionProblem problem = append_problem(DataType::e4m3, 0, false);
  problem.kv_scales = KvScales::sequence;
  AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 17, 3, 50}, 5));
  const std::size_t scale = 1 * 2 + 1;  // of sequence 1 and KV head 1
  const AttentionInputs before = ok(append_reference(problem, inputs));
  for (std::vector<float>* scales : {&inputs.k_head_scales, &inputs.v_head_scales})
    (*scales)[scale] *= 2;
  const AttentionInputs after = ok(append_reference(problem, inputs));
  const SequenceRows places(problem, inputs);
  for (std::size_t sequence = 0; sequence < 4; ++sequence) {
    for (std::size_t head = 0; head < 2; ++head) {
      const float factor = sequence * 2 + head == scale ? 2 : 1;
      const auto token = static_cast<std::size_t>(inputs.kv_lengths[sequence] - 1);
      const std::size_t k = places.k_row(sequence, token, head);
      const std::size_t v = places.v_row(sequence, token, head);
      for (std::size_t i = 0; i < 32; ++i) {
        // Halves of e4m3 are exact from 2^-5 on.
        const float k_before = to_float(before.k[k + i], DataType::e4m3);
        if (std::abs(k_before) >= 0x1p-5F)
          CHECK(to_float(after.k[k + i], DataType::e4m3) * factor == k_before);
        const float v_before = to_float(before.v[v + i], DataType::e4m3);
        if (std::abs(v_before) >= 0x1p-5F)
          CHECK(to_float(after.v[v + i], DataType::e4m3) * factor == v_before);
      }
    }
  }
}

TEST_CASE("attention over what is appended equals that over a cache that holds it already") {
  AttentionProblem problem = append_problem(DataType::e4m3, 64, true);
  problem.append->positions = true;
  problem.ragged_q = true;
  const AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 17, 2, 0}, 5));
  const AttentionOutputs outputs = ok(attention_reference(problem, inputs));
  AttentionInputs appended = ok(append_reference(problem, inputs));
  appended.new_q = appended.new_k = appended.new_v = {};
  appended.positions = {};
  problem.append.reset();
  const AttentionOutputs already = ok(attention_reference(problem, appended));
  CHECK(outputs.o == already.o);
  CHECK(outputs.lse == already.lse);
}

TEST_CASE("new rows that do not fit the problem are refused") {
  const AttentionProblem problem = append_problem(DataType::bf16, 64, false);
  AttentionInputs inputs = ok(make_attention_inputs(problem, {100, 17, 2, 0}, 5));
  inputs.new_v.pop_back();
  CHECK(append_reference(problem, inputs).error().code == ErrorCode::invalid_argument);
  CHECK(attention_reference(problem, inputs).error().code == ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace cubinet
