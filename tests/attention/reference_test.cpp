// SPDX-License-Identifier: Apache-2.0
#include <cubinet/attention/reference_values.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace cubinet {
namespace {

constexpr std::size_t kDim = 8;

// One sequence, one head, pages of 2 tokens, and all but the first one or two elements of a row
// zero: small enough for a pencil.
AttentionProblem tiny() {
  AttentionProblem problem;
  problem.head_dim_qk = problem.head_dim_v = kDim;
  problem.tokens_per_page = 2;
  problem.kv_len = 3;
  problem.softmax_scale = 1.0f;
  problem.data_type_o = DataType::fp32;
  return problem;
}

// Rows of kDim elements, of which the first `given` are stated.
ElementBits rows(std::size_t given, const std::vector<float>& values) {
  ElementBits result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.push_back(from_float(values[i], DataType::bf16));
    if (i % given == given - 1) result.resize(result.size() + kDim - given, 0);
  }
  return result;
}

// The first element of each row.
std::vector<double> first_column(const AttentionOutputs& outputs) {
  std::vector<double> column;
  for (std::size_t i = 0; i < outputs.o.size(); i += kDim)
    column.push_back(outputs.o[i]);
  return column;
}

const float kNan = std::numeric_limits<float>::quiet_NaN();

// Tokens 0, 1 on page 2, token 2 on page 0; page 1 and the rest of page 0 are poisoned.
AttentionInputs tiny_inputs() {
  AttentionInputs inputs;
  inputs.q = rows(2, {1, 2});
  inputs.k = rows(2, {1, 1, kNan, kNan, kNan, kNan, kNan, kNan, 0, 0, 2, -1});
  inputs.v = rows(1, {8, kNan, kNan, kNan, 1, 2});
  inputs.page_table = {2, 0};
  inputs.kv_lengths = {3};
  inputs.pages = 3;
  return inputs;
}

AttentionOutputs run(const AttentionProblem& problem, const AttentionInputs& inputs) {
  auto outputs = attention_reference(problem, inputs);
  REQUIRE(outputs);
  return *std::move(outputs);
}

TEST_CASE("Three tokens worked out by hand") {
  // Logits 0, 0, 3: weights 1, 1, e^3.
  const AttentionOutputs outputs = run(tiny(), tiny_inputs());
  const double e3 = std::exp(3.0);
  CHECK(outputs.o[0] == doctest::Approx((1 + 2 + 8 * e3) / (2 + e3)).epsilon(1e-12));
  CHECK(outputs.lse[0] == doctest::Approx(std::log(2 + e3)).epsilon(1e-12));
}

TEST_CASE("The softmax scale multiplies the logits") {
  AttentionProblem problem = tiny();
  problem.softmax_scale = 0.5f;
  CHECK(run(problem, tiny_inputs()).lse[0] == doctest::Approx(std::log(2 + std::exp(1.5))).epsilon(1e-12));
}

TEST_CASE("A soft cap bounds the scaled logits, a sink not") {
  AttentionProblem problem = tiny();
  problem.soft_cap = 2;
  const double capped = 2 * std::tanh(1.5);
  CHECK(run(problem, tiny_inputs()).lse[0] == doctest::Approx(std::log(2 + std::exp(capped))).epsilon(1e-12));
  problem.sinks = true;
  AttentionInputs inputs = tiny_inputs();
  inputs.sinks = {7};
  CHECK(run(problem, inputs).lse[0] ==
        doctest::Approx(std::log(2 + std::exp(capped) + std::exp(7.0))).epsilon(1e-12));
}

TEST_CASE("A custom mask says which query tokens are seen, and hides nothing before them") {
  AttentionProblem problem = tiny();
  problem.q_len = 2;
  problem.mask = AttentionMask::custom;
  AttentionInputs inputs = tiny_inputs();
  inputs.q = rows(2, {1, 2, 1, 2});
  inputs.mask = {0b10, 0b10};  // tokens 1 and 2 are the query's; both see the newer one alone
  AttentionOutputs outputs = run(problem, inputs);
  const double of_first = std::exp(0.0) + std::exp(3.0);
  for (const double lse : outputs.lse)
    CHECK(lse == doctest::Approx(std::log(of_first)).epsilon(1e-12));
  inputs.mask = {0b01, 0b11};
  outputs = run(problem, inputs);
  CHECK(outputs.lse[0] == doctest::Approx(std::log(2.0)).epsilon(1e-12));
  CHECK(outputs.lse[1] == doctest::Approx(std::log(2 + std::exp(3.0))).epsilon(1e-12));
  problem.window = 1;  // of the first: token 1, of the second: token 2
  outputs = run(problem, inputs);
  CHECK(outputs.lse[0] == doctest::Approx(0.0));
  CHECK(outputs.lse[1] == doctest::Approx(3.0));
  inputs.mask = {1};
  CHECK_FALSE(attention_reference(problem, inputs));
}

TEST_CASE("A shorter length leaves the last token out") {
  AttentionInputs inputs = tiny_inputs();
  inputs.kv_lengths = {2};
  const AttentionOutputs outputs = run(tiny(), inputs);
  CHECK(outputs.o[0] == doctest::Approx(1.5).epsilon(1e-12));
  CHECK(outputs.lse[0] == doctest::Approx(std::log(2.0)).epsilon(1e-12));
}

TEST_CASE("An empty sequence gives zeros and minus infinity") {
  AttentionInputs inputs = tiny_inputs();
  inputs.kv_lengths = {0};
  const AttentionOutputs outputs = run(tiny(), inputs);
  CHECK(outputs.o[0] == 0);
  CHECK(outputs.lse[0] == -std::numeric_limits<double>::infinity());
}

TEST_CASE("A window keeps the newest tokens only") {
  AttentionProblem problem = tiny();
  problem.window = 1;
  CHECK(run(problem, tiny_inputs()).o[0] == doctest::Approx(8).epsilon(1e-12));
  problem.window = 2;
  const double e3 = std::exp(3.0);
  CHECK(run(problem, tiny_inputs()).o[0] == doctest::Approx((2 + 8 * e3) / (1 + e3)).epsilon(1e-12));
}

TEST_CASE("Causal query tokens end at the end of the KV, dense ones see all of it") {
  AttentionProblem problem = tiny();
  problem.q_len = 2;
  AttentionInputs inputs = tiny_inputs();
  inputs.q = rows(2, {0, 0, 0, 0});  // all weights alike
  AttentionOutputs outputs = run(problem, inputs);
  CHECK(outputs.o[0] == doctest::Approx(1.5).epsilon(1e-12));
  CHECK(outputs.o[kDim] == doctest::Approx(11.0 / 3).epsilon(1e-12));
  problem.mask = AttentionMask::dense;
  outputs = run(problem, inputs);
  CHECK(outputs.o[0] == doctest::Approx(11.0 / 3).epsilon(1e-12));
  // More queries than tokens: the first sees nothing.
  problem.mask = AttentionMask::causal;
  inputs.kv_lengths = {1};
  outputs = run(problem, inputs);
  CHECK(outputs.o[0] == 0);
  CHECK(outputs.o[kDim] == doctest::Approx(1).epsilon(1e-12));
}

TEST_CASE("A sink takes part in the sum and has no V, and a row of nothing else is zero") {
  AttentionProblem problem = tiny();
  problem.sinks = true;
  AttentionInputs inputs = tiny_inputs();
  inputs.sinks = {1};
  const AttentionOutputs outputs = run(problem, inputs);
  const double sum = 2 + std::exp(3.0) + std::exp(1.0);
  CHECK(outputs.o[0] == doctest::Approx((1 + 2 + 8 * std::exp(3.0)) / sum).epsilon(1e-12));
  CHECK(outputs.lse[0] == doctest::Approx(std::log(sum)).epsilon(1e-12));
  inputs.kv_lengths = {0};
  CHECK(run(problem, inputs).o[0] == 0);
  CHECK(run(problem, inputs).lse[0] == doctest::Approx(1).epsilon(1e-12));
  inputs.sinks = {1, 2};
  CHECK_FALSE(attention_reference(problem, inputs));
}

TEST_CASE("The output scale multiplies the output and nothing else") {
  AttentionProblem problem = tiny();
  problem.output_scale = 0.25;
  const AttentionOutputs scaled = run(problem, tiny_inputs());
  const AttentionOutputs plain = run(tiny(), tiny_inputs());
  CHECK(scaled.o[0] == doctest::Approx(plain.o[0] / 4).epsilon(1e-12));
  CHECK(scaled.lse == plain.lse);
}

TEST_CASE("Scales of KV heads multiply the logits and the output of their head, before cap and sink") {
  AttentionProblem plain;
  plain.batch = plain.heads_kv = 2;
  plain.heads_q = 6;
  plain.q_len = 3;
  plain.kv_len = 40;
  plain.tokens_per_page = 16;
  plain.data_type_k = plain.data_type_v = DataType::e4m3;
  plain.soft_cap = 5;
  plain.sinks = true;
  for (const KvScales scales : {KvScales::head, KvScales::sequence}) {
    AttentionProblem problem = plain;
    problem.kv_scales = scales;
    auto inputs = make_attention_inputs(problem, {40, 17}, 3);
    REQUIRE(inputs);
    const AttentionOutputs scaled = run(problem, *inputs);
    for (std::size_t sequence = 0; sequence < 2; ++sequence) {
      for (std::size_t head_kv = 0; head_kv < 2; ++head_kv) {
        const std::size_t scale = (scales == KvScales::sequence ? sequence * 2 : 0) + head_kv;
        AttentionProblem uniform = plain;
        uniform.softmax_scale = plain.scale() * static_cast<double>(inputs->k_head_scales[scale]);
        uniform.output_scale = inputs->v_head_scales[scale];
        AttentionInputs unscaled = *inputs;
        unscaled.k_head_scales.clear();
        unscaled.v_head_scales.clear();
        const AttentionOutputs expected = run(uniform, unscaled);
        for (std::size_t row = 0; row < expected.lse.size(); ++row) {
          if (row / 18 != sequence || row % 6 / 3 != head_kv) continue;
          CHECK(scaled.lse[row] == doctest::Approx(expected.lse[row]).epsilon(1e-12));
          for (std::size_t i = row * 128; i < (row + 1) * 128; ++i)
            REQUIRE(scaled.o[i] == doctest::Approx(expected.o[i]).epsilon(1e-12));
        }
      }
    }
    inputs->k_head_scales.pop_back();
    CHECK_FALSE(attention_reference(problem, *inputs));
  }
}

TEST_CASE("Sequences that lie side by side begin where those before them end") {
  AttentionProblem problem = tiny();
  problem.prefill = true;
  problem.layout = QkvLayout::separate_qkv;
  problem.batch = 2;
  AttentionInputs inputs;
  inputs.q = rows(2, {1, 2, 1, 2});
  inputs.k = rows(2, {0, 0, 0, 0, 2, -1});
  inputs.v = rows(1, {5, 2, 8});
  inputs.kv_lengths = {1, 2};
  const AttentionOutputs outputs = run(problem, inputs);  // logits 0; 0, 0
  CHECK(first_column(outputs)[0] == doctest::Approx(5).epsilon(1e-12));
  CHECK(first_column(outputs)[1] == doctest::Approx(5).epsilon(1e-12));
  CHECK(outputs.lse[1] == doctest::Approx(std::log(2.0)).epsilon(1e-12));
}

TEST_CASE("A cache of a sequence begins where the longest sequence would end") {
  AttentionProblem problem = tiny();
  problem.prefill = true;
  problem.layout = QkvLayout::contiguous_kv;
  problem.batch = 2;
  problem.kv_len = 3;
  AttentionInputs inputs;
  inputs.q = rows(2, {1, 2, 1, 2});
  inputs.k = rows(2, {0, 0, 9, 9, 9, 9, 0, 0, 2, -1, 9, 9});
  inputs.v = rows(1, {5, 9, 9, 2, 8, 9});
  inputs.kv_lengths = {1, 2};
  const AttentionOutputs outputs = run(problem, inputs);  // logits 0; 0, 0
  CHECK(first_column(outputs)[0] == doctest::Approx(5).epsilon(1e-12));
  CHECK(first_column(outputs)[1] == doctest::Approx(5).epsilon(1e-12));
  CHECK(outputs.lse[1] == doctest::Approx(std::log(2.0)).epsilon(1e-12));
}

TEST_CASE("A long sequence is computed in parts, whose rows are those of the whole") {
  AttentionProblem problem;
  problem.prefill = true;
  problem.q_len = 300;
  problem.kv_len = 40'000;
  problem.heads_q = problem.heads_kv = 1;
  problem.head_dim_qk = problem.head_dim_v = 8;
  problem.window = 50;
  const auto inputs = make_attention_inputs(problem, {40'000}, 3);
  REQUIRE(inputs);
  const AttentionOutputs whole = run(problem, *inputs);
  AttentionProblem last = problem;
  last.q_len = 7;
  AttentionInputs of_last = *inputs;
  of_last.q.erase(of_last.q.begin(), of_last.q.end() - 7 * 8);
  const AttentionOutputs part = run(last, of_last);
  for (std::size_t i = 0; i < part.o.size(); ++i)
    REQUIRE(part.o[i] == whole.o[whole.o.size() - part.o.size() + i]);
}

TEST_CASE("Ragged queries are as many as their sequence has, the last of them at the end of its KV") {
  AttentionProblem problem = tiny();
  problem.batch = problem.q_len = 2;
  problem.ragged_q = true;
  AttentionInputs inputs = tiny_inputs();
  inputs.q = rows(2, {0, 0, 0, 0, 0, 0});  // all weights alike
  inputs.page_table = {2, 0, 2, 0};
  inputs.kv_lengths = {3, 2};
  CHECK_FALSE(attention_reference(problem, inputs));
  inputs.q_lengths = {1, 2};
  const std::vector<double> o = first_column(run(problem, inputs));
  REQUIRE(o.size() == 3);
  CHECK(o[0] == doctest::Approx(11.0 / 3).epsilon(1e-12));
  CHECK(o[1] == doctest::Approx(1).epsilon(1e-12));
  CHECK(o[2] == doctest::Approx(1.5).epsilon(1e-12));
  inputs.q_lengths = {0, 3};
  CHECK_FALSE(attention_reference(problem, inputs));
}

TEST_CASE("K and V may have page tables of their own") {
  AttentionProblem problem = tiny();
  problem.separate_page_tables = true;
  AttentionInputs inputs = tiny_inputs();
  CHECK_FALSE(attention_reference(problem, inputs));
  inputs.page_table = {2, 0, 0, 1};  // V's third token is the first of page 1
  inputs.v = rows(1, {1, 2, 8, kNan, kNan, kNan});
  const double e3 = std::exp(3.0);
  CHECK(run(problem, inputs).o[0] == doctest::Approx((1 + 2 + 8 * e3) / (2 + e3)).epsilon(1e-12));
}

TEST_CASE("The V of latent attention is the first columns of K, under a scale of 192 columns") {
  AttentionProblem problem = tiny();
  problem.head_dim_qk = 576;
  problem.head_dim_v = 512;
  problem.softmax_scale = std::nullopt;
  problem.kv_len = 2;
  AttentionInputs inputs;
  inputs.q = ElementBits(576, 0);
  inputs.k = ElementBits(std::size_t{2} * 576, 0);
  inputs.q[575] = inputs.k[576 + 575] = from_float(1, DataType::bf16);  // logits 0 and 1 / sqrt(192)
  inputs.k[511] = from_float(3, DataType::bf16);
  inputs.page_table = {0};
  inputs.kv_lengths = {2};
  inputs.pages = 1;
  const AttentionOutputs outputs = run(problem, inputs);
  REQUIRE(outputs.o.size() == 512);
  CHECK(outputs.o[0] == 0);
  CHECK(outputs.o[511] == doctest::Approx(3 / (1 + std::exp(1 / std::sqrt(192.0)))).epsilon(1e-12));
  inputs.v = ElementBits(std::size_t{2} * 512, 0);
  CHECK_FALSE(attention_reference(problem, inputs));
}

TEST_CASE("Query heads read the KV head of their group, in both layouts") {
  AttentionProblem problem = tiny();
  problem.heads_q = 4;
  problem.heads_kv = 2;
  problem.kv_len = 2;
  AttentionInputs inputs;
  inputs.q = rows(2, {0, 0, 0, 0, 0, 0, 0, 0});
  inputs.k = ElementBits(4 * kDim, 0);
  inputs.page_table = {0};
  inputs.kv_lengths = {2};
  inputs.pages = 1;
  inputs.v = rows(1, {1, 10, 3, 30});  // [token][head]
  AttentionOutputs outputs = run(problem, inputs);
  CHECK(first_column(outputs) == std::vector<double>{2, 2, 20, 20});
  problem.kv_order = KvOrder::hnd;
  outputs = run(problem, inputs);  // now heads {1, 10} and {3, 30}
  CHECK(first_column(outputs) == std::vector<double>{5.5, 5.5, 16.5, 16.5});
}

TEST_CASE("Made inputs never let poison through") {
  AttentionProblem problem;
  problem.batch = 6;
  problem.q_len = 3;
  problem.heads_q = 6;
  problem.heads_kv = 2;
  problem.head_dim_qk = 64;
  problem.head_dim_v = 64;
  problem.tokens_per_page = 16;
  problem.kv_len = 120;
  for (const int variant : {0, 1, 2, 3, 4}) {
    if (variant == 1) problem.window = 21;
    if (variant == 2) problem.separate_page_tables = true;
    if (variant == 3) problem.ragged_q = true;
    if (variant == 4) {
      problem.prefill = true;
      problem.layout = QkvLayout::separate_qkv;
      problem.separate_page_tables = false;
    }
    const auto inputs = make_attention_inputs(problem, make_kv_lengths(problem, LengthPattern::borders), 3);
    REQUIRE(inputs);
    for (const double value : run(problem, *inputs).o)
      REQUIRE(std::isfinite(value));
  }
}

TEST_CASE("Inputs that do not fit the problem are refused") {
  AttentionInputs inputs = tiny_inputs();
  inputs.page_table = {2, 3};
  CHECK_FALSE(attention_reference(tiny(), inputs));
  inputs = tiny_inputs();
  inputs.page_table = {-1, 0};
  CHECK_FALSE(attention_reference(tiny(), inputs));
  inputs = tiny_inputs();
  inputs.q.pop_back();
  CHECK_FALSE(attention_reference(tiny(), inputs));
  inputs = tiny_inputs();
  inputs.v.pop_back();
  CHECK_FALSE(attention_reference(tiny(), inputs));
  inputs = tiny_inputs();
  inputs.kv_lengths = {4};
  CHECK_FALSE(attention_reference(tiny(), inputs));
}

AttentionDeviation compare(const AttentionOutputs& reference, const std::vector<float>& o,
                           const std::vector<float>& lse = {}) {
  AttentionProblem problem = tiny();
  problem.heads_q = 2;
  problem.heads_kv = 2;
  problem.head_dim_v = 2;
  const auto error = compare_attention(problem, reference, std::as_bytes(std::span(o)), lse);
  REQUIRE(error);
  return *error;
}

TEST_CASE("A row whose tokens are all NaN is NaN, and so is its LSE") {
  for (const bool sinks : {false, true}) {
    AttentionProblem problem = tiny();
    AttentionInputs inputs = tiny_inputs();
    problem.sinks = sinks;
    if (sinks) inputs.sinks.assign(problem.heads_q, 0.5f);
    inputs.k.assign(inputs.k.size(), from_float(kNan, DataType::bf16));
    const AttentionOutputs outputs = run(problem, inputs);
    for (const double lse : outputs.lse)
      CHECK(std::isnan(lse));
    for (const double value : first_column(outputs))
      CHECK(std::isnan(value));
  }
}

TEST_CASE("The comparison finds the worst row, NaN, and what should have been zero") {
  const AttentionOutputs reference{{3, 4, 0, 0}, {1, -std::numeric_limits<double>::infinity()}};
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(compare(reference, {3, 4, 0, 0}).worst_row == 0);
  CHECK(compare(reference, {3, 4.5f, 0, 0}).worst_row == doctest::Approx(0.1));
  CHECK(compare(reference, {3, 4.5f, 0, 0}).all_rows == doctest::Approx(0.1));
  CHECK(std::isinf(compare(reference, {3, kNan, 0, 0}).worst_row));
  CHECK(std::isinf(compare(reference, {3, 4, 0, 1e-20f}).worst_row));
  CHECK(compare(reference, {3, 4, 0, 1}).worst_index == 1);
  CHECK(compare(reference, {3, 4, 0, 0}, {1.25f, -infinity}).worst_lse == doctest::Approx(0.25));
  CHECK(std::isinf(compare(reference, {3, 4, 0, 0}, {1, 0}).worst_lse));
  CHECK(std::isinf(compare(reference, {3, 4, 0, 0}, {kNan, -infinity}).worst_lse));
}

TEST_CASE("An output of eight bits is compared by the steps between it and the rounded reference") {
  AttentionProblem problem = tiny();
  problem.heads_q = problem.heads_kv = 1;
  problem.head_dim_v = 4;
  problem.data_type_o = DataType::e4m3;
  const AttentionOutputs reference{{1.03, -0.0005, 500, 0}, {1}};  // rounds to 1, -0, 448 and 0
  const auto steps = [&](std::array<std::uint8_t, 4> bits) {
    const auto error = compare_attention(problem, reference, std::as_bytes(std::span(bits)), {});
    REQUIRE(error);
    return error->worst_steps;
  };
  CHECK(steps({0x38, 0x80, 0x7e, 0}) == 0);
  CHECK(steps({0x38, 0x00, 0x7e, 0}) == 0);
  CHECK(steps({0x39, 0x80, 0x7e, 0}) == 1);
  CHECK(steps({0x38, 0x01, 0x7e, 0}) == 1);
  CHECK(steps({0x38, 0x80, 0x7b, 0}) == 3);
  const std::array<std::uint8_t, 4> poisoned = {0xff, 0xff, 0xff, 0xff};
  CHECK(std::isinf(compare_attention(problem, reference, std::as_bytes(std::span(poisoned)), {})->worst_row));
}

TEST_CASE("Of an output that fp16 rounds to its smallest numbers only an error beyond the rounding counts") {
  AttentionProblem problem = tiny();
  problem.heads_q = problem.heads_kv = 1;
  problem.head_dim_v = 2;
  problem.data_type_o = DataType::fp16;
  const AttentionOutputs reference{{0x1.8p-24, -0x1.8p-25}, {0}};
  const auto worst_row = [&](std::uint16_t first, std::uint16_t second) {
    const std::vector<std::uint16_t> bits = {first, second};
    const auto error = compare_attention(problem, reference, std::as_bytes(std::span(bits)), {});
    REQUIRE(error);
    return error->worst_row;
  };
  CHECK(worst_row(1, 0x8001) == 0);
  CHECK(worst_row(2, 0x8001) == 0);
  CHECK(worst_row(3, 0x8001) > 0.5);
  CHECK(worst_row(1, 0x8000) > 0.1);
}

TEST_CASE("An output of another size is not compared") {
  AttentionProblem problem = tiny();
  const std::vector<float> o = {1, 2};
  CHECK_FALSE(compare_attention(problem, AttentionOutputs{{1}, {1}}, std::as_bytes(std::span(o)), {}));
  CHECK_FALSE(
      compare_attention(problem, AttentionOutputs{{1, 2}, {1, 2}}, std::as_bytes(std::span(o)), {1.0f}));
}

}  // namespace
}  // namespace cubinet
