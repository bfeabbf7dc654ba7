// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/attention/shared_prefix_inputs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace cubinet {
namespace {

using test::ok;

constexpr std::int32_t kPage = 16;

// Three sequences, two of which share a prefix of two pages.
SharedPrefixProblem two_groups() {
  SharedPrefixProblem problem;
  problem.own.batch = 3;
  problem.own.q_len = 2;
  problem.own.kv_len = 20;
  problem.own.heads_q = 4;
  problem.own.heads_kv = 2;
  problem.own.head_dim_qk = problem.own.head_dim_v = 64;
  problem.own.tokens_per_page = kPage;
  problem.own.sinks = true;
  problem.own.output_scale = 0.5;
  problem.groups = 2;
  problem.prefix_len = 2 * kPage;
  return problem;
}

const SharedPrefixLengths kLengths = {{2 * kPage, 0}, {5, 20, 9}, {2, 1}};

TEST_CASE("Attention over a prefix and own tokens, merged, is attention over all tokens") {
  const SharedPrefixProblem problem = two_groups();
  const SharedPrefixInputs inputs = ok(make_shared_prefix_inputs(problem, kLengths, 3, 1));
  CHECK(inputs.group_offsets == std::vector<std::int32_t>{0, 4, 6});
  const AttentionOutputs merged =
      merge_reference(inputs.merge, ok(attention_reference(inputs.prefix_problem, inputs.prefix, 1)),
                      ok(attention_reference(problem.own, inputs.own, 1)));

  AttentionProblem whole = problem.own;
  whole.kv_len += problem.prefix_len;
  AttentionInputs all = inputs.own;
  all.page_table.clear();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto own = inputs.own.page_table.begin() + static_cast<std::ptrdiff_t>(2 * i);
    std::vector<std::int32_t> row(own, own + 2);
    if (i < 2)
      row.insert(row.begin(), inputs.prefix.page_table.begin(), inputs.prefix.page_table.begin() + 2);
    row.resize(whole.pages_per_sequence());
    all.page_table.insert(all.page_table.end(), row.begin(), row.end());
    all.kv_lengths[i] += i < 2 ? 2 * kPage : 0;
  }
  const AttentionOutputs expected = ok(attention_reference(whole, all, 1));
  REQUIRE(merged.o.size() == expected.o.size());
  for (std::size_t i = 0; i < merged.o.size(); ++i)
    CHECK(merged.o[i] == doctest::Approx(expected.o[i]).epsilon(1e-9));
  for (std::size_t i = 0; i < merged.lse.size(); ++i)
    CHECK(merged.lse[i] == doctest::Approx(expected.lse[i]).epsilon(1e-9));
}

TEST_CASE("The pages of prefixes and of own tokens are different ones of one pool") {
  const SharedPrefixInputs inputs = ok(make_shared_prefix_inputs(two_groups(), kLengths, 3, 1));
  const auto& prefix = inputs.prefix.page_table;
  const auto& own = inputs.own.page_table;
  CHECK(*std::max_element(prefix.begin(), prefix.end()) < inputs.prefix.pages);
  CHECK(*std::min_element(own.begin(), own.end()) >= inputs.prefix.pages);
  CHECK(*std::max_element(own.begin(), own.end()) < inputs.own.pages);
  CHECK(inputs.own.k.size() == static_cast<std::size_t>(inputs.own.pages) * kPage * 2 * 64);
}

TEST_CASE("The prefix is attended to by Q as an append rotates it") {
  SharedPrefixProblem problem = two_groups();
  problem.own.append.emplace();
  problem.own.append->rope_dim = 64;
  problem.own.append->positions = true;
  const SharedPrefixInputs inputs = ok(make_shared_prefix_inputs(problem, kLengths, 3, 1));
  CHECK(inputs.prefix.q == ok(append_reference(problem.own, inputs.own)).q);
  CHECK(inputs.prefix.q != inputs.own.q);
}

}  // namespace
}  // namespace cubinet
