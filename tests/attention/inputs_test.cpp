// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"
#include "reference/sequence_rows.hpp"

#include <cubinet/attention/reference_values.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace cubinet {
namespace {

AttentionProblem small(std::uint32_t batch = 5) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.heads_q = 8;
  problem.heads_kv = 2;
  problem.head_dim_qk = 64;
  problem.head_dim_v = 128;
  problem.tokens_per_page = 16;
  problem.kv_len = 100;
  return problem;
}

AttentionInputs make(const AttentionProblem& problem, const std::vector<std::int32_t>& lengths,
                     std::uint64_t seed = 1) {
  auto inputs = make_attention_inputs(problem, lengths, seed);
  REQUIRE(inputs);
  return *std::move(inputs);
}

bool is_nan_row(const AttentionProblem& problem, const ElementBits& pool, std::int64_t page,
                std::size_t token, std::size_t head, std::size_t dim) {
  const std::size_t offset = pool_offset(problem, page, token, head, dim);
  std::size_t nans = 0;
  for (std::size_t i = 0; i < dim; ++i)
    nans += std::isnan(to_float(pool[offset + i], problem.data_type_k)) ? 1U : 0U;
  REQUIRE((nans == 0 || nans == dim));
  return nans == dim;
}

// Every row of the pools is a number exactly where some query reads it.
void check_poison(const AttentionProblem& problem, const std::vector<std::int32_t>& lengths) {
  const AttentionInputs inputs = make(problem, lengths);
  const SequenceRows rows(problem, inputs);
  std::set<std::pair<std::int64_t, std::size_t>> read;
  std::set<std::int64_t> pages;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    std::set<std::int64_t> own;
    for (std::int64_t position = 0; position < lengths[b]; ++position) {
      bool seen = false;
      for (std::uint32_t q = 0; q < rows.q_length(b); ++q) {
        const TokenRange range = rows.visible(b, q);
        seen = seen || (position >= range.begin && position < range.end);
      }
      if (!seen) continue;
      const auto token = static_cast<std::size_t>(position);
      const std::size_t entry = b * problem.pages_per_sequence() + token / problem.tokens_per_page;
      read.insert({inputs.page_table[entry], token % problem.tokens_per_page});
      own.insert(inputs.page_table[entry]);
    }
    for (const std::int64_t page : own)
      CHECK(pages.insert(page).second);  // no page belongs to two sequences
  }
  for (std::int64_t page = 0; page < inputs.pages; ++page) {
    for (std::size_t token = 0; token < problem.tokens_per_page; ++token) {
      for (std::size_t head = 0; head < problem.heads_kv; ++head) {
        const bool used = read.count({page, token}) == 1;
        REQUIRE(is_nan_row(problem, inputs.k, page, token, head, problem.head_dim_qk) != used);
        REQUIRE(is_nan_row(problem, inputs.v, page, token, head, problem.head_dim_v) != used);
      }
    }
  }
}

TEST_CASE("All that no query may read is NaN, all that one reads is a number") {
  for (const KvOrder layout : {KvOrder::nhd, KvOrder::hnd}) {
    AttentionProblem problem = small();
    problem.kv_order = layout;
    check_poison(problem, {100, 0, 15, 16, 17});
    problem.window = 20;
    check_poison(problem, {100, 0, 19, 20, 21});
    problem.q_len = 6;
    check_poison(problem, {100, 0, 3, 30, 31});
    problem.ragged_q = true;
    check_poison(problem, {100, 0, 3, 30, 31});
  }
}

TEST_CASE("Pages are shuffled and spare entries name a poisoned page") {
  const AttentionProblem problem = small();
  const AttentionInputs inputs = make(problem, {100, 0, 100, 100, 100});
  CHECK_FALSE(std::is_sorted(inputs.page_table.begin(), inputs.page_table.begin() + 7));
  const auto spare = inputs.page_table[7];  // of the empty sequence
  CHECK(is_nan_row(problem, inputs.k, spare, 0, 0, 64));
  CHECK(inputs.page_table.size() == 5 * 7);
}

TEST_CASE("K and V that are looked up apart lie on pages that have little to do with each other") {
  AttentionProblem problem = small();
  problem.separate_page_tables = true;
  const AttentionInputs inputs = make(problem, {100, 0, 100, 100, 100});
  REQUIRE(inputs.page_table.size() == 2 * 5 * 7);
  std::set<std::int32_t> pages_of_k;
  std::set<std::int32_t> pages_of_v;
  std::size_t alike = 0;
  for (const std::size_t sequence : {0U, 2U, 3U, 4U}) {
    for (std::size_t page = 0; page < 7; ++page) {
      const std::int32_t k = inputs.page_table[(2 * sequence) * 7 + page];
      const std::int32_t v = inputs.page_table[(2 * sequence + 1) * 7 + page];
      CHECK(pages_of_k.insert(k).second);
      CHECK(pages_of_v.insert(v).second);
      CHECK_FALSE(is_nan_row(problem, inputs.k, k, 0, 0, problem.head_dim_qk));
      CHECK_FALSE(is_nan_row(problem, inputs.v, v, 0, 0, problem.head_dim_v));
      alike += k == v ? 1U : 0U;
    }
  }
  CHECK(alike < 7);
}

TEST_CASE("Sequences side by side take the room of their lengths, and what no query reads of them is NaN") {
  AttentionProblem problem = small(3);
  problem.prefill = true;
  problem.layout = QkvLayout::separate_qkv;
  problem.window = 20;
  problem.q_len = 6;
  const AttentionInputs inputs = make(problem, {100, 0, 30});
  CHECK(inputs.pages == 0);
  CHECK(inputs.page_table.empty());
  REQUIRE(inputs.k.size() == std::size_t{130} * 2 * 64);
  REQUIRE(inputs.v.size() == std::size_t{130} * 2 * 128);
  const auto is_nan = [&](std::size_t token) {
    return std::isnan(to_float(inputs.k[token * 2 * 64], DataType::bf16)) &&
           std::isnan(to_float(inputs.v[(token + 1) * 2 * 128 - 1], DataType::bf16));
  };
  for (std::size_t token = 0; token < 130; ++token) {
    CAPTURE(token);
    CHECK(is_nan(token) == (token < 75 || (token >= 100 && token < 105)));
  }
}

TEST_CASE("Caches of sequences have room for the longest, and what no query reads of them is NaN") {
  AttentionProblem problem = small(2);
  problem.prefill = true;
  problem.layout = QkvLayout::contiguous_kv;
  const AttentionInputs inputs = make(problem, {100, 30});
  REQUIRE(inputs.k.size() == std::size_t{2} * problem.kv_len * 2 * 64);
  for (std::size_t token = 0; token < 2 * problem.kv_len; ++token) {
    CAPTURE(token);
    const std::size_t length = token < problem.kv_len ? 100 : 30;
    CHECK(std::isnan(to_float(inputs.k[token * 2 * 64], DataType::bf16)) ==
          (token % problem.kv_len >= length));
  }
}

TEST_CASE("Ragged queries are from one to the largest number, and sinks as large as logits") {
  AttentionProblem problem = small();
  problem.q_len = 6;
  problem.ragged_q = problem.sinks = true;
  const AttentionInputs inputs = make(problem, {100, 0, 15, 16, 17});
  REQUIRE(inputs.q_lengths.size() == 5);
  CHECK(inputs.q_lengths[0] == 6);
  std::int32_t tokens = 0;
  for (const std::int32_t length : inputs.q_lengths) {
    CHECK(length >= 1);
    CHECK(length <= 6);
    tokens += length;
  }
  CHECK(tokens < 30);
  CHECK(inputs.q.size() == static_cast<std::size_t>(tokens) * 8 * 64);
  REQUIRE(inputs.sinks.size() == 8);
  CHECK(*std::max_element(inputs.sinks.begin(), inputs.sinks.end()) > 2);
}

TEST_CASE("Query lengths may be given, and must fit the problem") {
  AttentionProblem problem = small();
  problem.prefill = problem.ragged_q = true;
  problem.q_len = 40;
  const std::vector<std::int32_t> kv_lengths = {100, 0, 15, 16, 17};
  const std::vector<std::int32_t> q_lengths = {40, 0, 1, 1, 1};
  const auto made = make_attention_inputs(problem, kv_lengths, 1, 1, q_lengths);
  REQUIRE(made);
  const AttentionInputs& inputs = *made;
  CHECK(inputs.q_lengths == q_lengths);
  CHECK(inputs.q.size() == std::size_t{43} * 8 * 64);
  for (const std::vector<std::int32_t>& wrong :
       {std::vector<std::int32_t>{1, 1}, {41, 1, 1, 1, 1}, {1, 1, 1, 1, -1}}) {
    const auto refused = make_attention_inputs(problem, kv_lengths, 1, 1, wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::invalid_argument);
    CHECK(refused.error().message.find("`q_lengths`") != std::string::npos);
  }
  problem.ragged_q = false;
  CHECK_FALSE(make_attention_inputs(problem, kv_lengths, 1, 1, q_lengths));
}

TEST_CASE("Whole prompts have as many query tokens as KV tokens") {
  AttentionProblem problem = small();
  problem.prefill = problem.ragged_q = true;
  problem.q_len = problem.kv_len;
  CHECK(make(problem, {100, 0, 15, 16, 17}).q_lengths == std::vector<std::int32_t>{100, 0, 15, 16, 17});
}

TEST_CASE("Inputs of e4m3 are numbers where a query reads them and NaN elsewhere") {
  AttentionProblem problem = test::generation(2, 1, 100, 4, 2, 64, 64);
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const AttentionInputs inputs = *make_attention_inputs(problem, {100, 7}, 1);
  for (const std::uint16_t bits : inputs.q)
    REQUIRE(std::isfinite(to_float(bits, DataType::e4m3)));
  std::size_t numbers = 0;
  for (const std::uint16_t bits : inputs.k)
    numbers += std::isnan(to_float(bits, DataType::e4m3)) ? 0U : 1U;
  CHECK(numbers == std::size_t{107} * 2 * 64);
  const AttentionOutputs outputs = *attention_reference(problem, inputs);
  for (const double value : outputs.o)
    REQUIRE(std::isfinite(value));
}

TEST_CASE("The same seed gives the same inputs whatever the threads, another seed others") {
  const AttentionProblem problem = small();
  const std::vector<std::int32_t> lengths = {100, 0, 33, 64, 7};
  const auto one = make_attention_inputs(problem, lengths, 7, 1);
  const auto many = make_attention_inputs(problem, lengths, 7, 4);
  REQUIRE(one);
  REQUIRE(many);
  CHECK(one->q == many->q);
  CHECK(one->k == many->k);
  CHECK(one->v == many->v);
  CHECK(one->page_table == many->page_table);
  CHECK(one->q != make(problem, lengths, 8).q);
}

TEST_CASE("Scales of KV heads are from a quarter to four, and Q is divided by those of K") {
  AttentionProblem problem = small();
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const std::vector<std::int32_t> lengths = {100, 0, 33, 64, 7};
  const AttentionInputs plain = make(problem, lengths);
  CHECK(plain.k_head_scales.empty());
  for (const KvScales scales : {KvScales::head, KvScales::sequence}) {
    problem.kv_scales = scales;
    const AttentionInputs inputs = make(problem, lengths);
    REQUIRE(inputs.k_head_scales.size() == (scales == KvScales::head ? 2U : 10U));
    REQUIRE(inputs.v_head_scales.size() == inputs.k_head_scales.size());
    CHECK(inputs.v_head_scales != inputs.k_head_scales);
    for (const std::vector<float>* each : {&inputs.k_head_scales, &inputs.v_head_scales}) {
      for (const float scale : *each)
        CHECK((scale >= 0.25F && scale <= 4.0F));
      CHECK(std::set<float>(each->begin(), each->end()).size() == each->size());
    }
    for (std::size_t row = 0; row < 5 * 8; ++row) {
      const float scale = head_scale(problem, inputs.k_head_scales, row / 8, row % 8 / 4);
      for (std::size_t i = row * 64; i < (row + 1) * 64; ++i) {
        const float divided = to_float(plain.q[i], DataType::bf16) / scale;
        REQUIRE(inputs.q[i] == from_float(divided, DataType::bf16));
      }
    }
  }
}

TEST_CASE("Logits have a standard deviation near 4") {
  AttentionProblem problem = small(1);
  problem.kv_len = 2000;
  problem.softmax_scale = 0.2f;
  const AttentionInputs inputs = make(problem, {2000});
  double squares = 0;
  int count = 0;
  for (std::size_t head = 0; head < problem.heads_q; ++head) {
    for (std::size_t token = 0; token < 2000; ++token) {
      const auto page = inputs.page_table[token / 16];
      const std::size_t k = pool_offset(problem, page, token % 16, head / problem.group_size(), 64);
      double logit = 0;
      for (std::size_t i = 0; i < 64; ++i) {
        logit += static_cast<double>(to_float(inputs.q[head * 64 + i], problem.data_type_q)) *
                 static_cast<double>(to_float(inputs.k[k + i], problem.data_type_k));
      }
      squares += logit * logit * 0.04;
      ++count;
    }
  }
  const double deviation = std::sqrt(squares / count);
  CHECK(deviation > 3.2);
  CHECK(deviation < 4.8);
}

TEST_CASE("Lengths beside the borders include the longest, an empty one and both sides of a page") {
  AttentionProblem problem = small(25);
  const auto lengths = make_kv_lengths(problem, LengthPattern::borders);
  REQUIRE(lengths.size() == 25);
  CHECK(lengths[0] == 100);
  CHECK(lengths[1] == 0);
  for (const int wanted : {15, 16, 17, 99, 84})
    CHECK(std::count(lengths.begin(), lengths.end(), wanted) >= 1);
  for (const std::int32_t length : lengths) {
    CHECK(length >= 0);
    CHECK(length <= 100);
  }
  for (const std::int32_t length : make_kv_lengths(problem, LengthPattern::uniform))
    CHECK(length == 100);
}

TEST_CASE("Lengths or types that do not fit are refused") {
  AttentionProblem problem = small();
  CHECK_FALSE(make_attention_inputs(problem, {}, 1));
  CHECK_FALSE(make_attention_inputs(problem, {1, 2, 3, 4}, 1));
  CHECK_FALSE(make_attention_inputs(problem, {1, 2, 3, 4, 101}, 1));
  problem.data_type_k = problem.data_type_v = DataType::fp16;
  CHECK(make_attention_inputs(problem, {1, 2, 3, 4, 5}, 1));
  problem.data_type_q = DataType::e2m1;
  CHECK_FALSE(make_attention_inputs(problem, {1, 2, 3, 4, 5}, 1));
}

TEST_CASE("Of a custom mask every query token sees itself, about half of the others and nothing beyond") {
  AttentionProblem problem;
  problem.batch = 4;
  problem.q_len = 40;
  problem.kv_len = 100;
  problem.ragged_q = true;
  problem.mask = AttentionMask::custom;
  const auto inputs = make_attention_inputs(problem, {100, 90, 80, 70}, 1);
  REQUIRE(inputs);
  std::size_t row = 0;
  std::size_t set = 0;
  std::size_t all = 0;
  for (const std::int32_t length : inputs->q_lengths) {
    for (std::int32_t token = 0; token < length; ++token, ++row) {
      const std::uint64_t bits = inputs->mask[2 * row] | std::uint64_t{inputs->mask[2 * row + 1]} << 32U;
      const bool itself = (bits >> token & 1) == 1;
      CHECK(itself);
      const std::uint64_t beyond = bits >> length;
      CHECK(beyond == 0);
      set += static_cast<std::size_t>(std::popcount(bits));
      all += static_cast<std::size_t>(length);
    }
  }
  CHECK(inputs->mask.size() == 2 * row);
  CHECK(set > all * 2 / 5);
  CHECK(set < all * 3 / 5);
}

}  // namespace
}  // namespace cubinet
