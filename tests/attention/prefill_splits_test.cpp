// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_splits.hpp"

#include "prefill_fixture.hpp"
#include "templates/prefill/attention_prefill_wgmma_family.hpp"

#include <algorithm>

namespace cubinet {
namespace {

namespace prefill = test::prefill;

constexpr PrefillTile kTile{128, 128, 2};

// A chunk over a long prefix, with few tiles.
AttentionProblem chunk(std::uint32_t heads_q = 8) {
  AttentionProblem problem = prefill::prompts(1, 32768, 512);
  problem.heads_q = heads_q;
  problem.heads_kv = 1;
  return problem;
}

PrefillPlan split_plan(const PlanRequest& asked) {
  return prefill::plan(asked, kAttentionPrefillWgmma);
}

TEST_CASE("rows of a sequence see the tokens of the window of each of them, or all") {
  AttentionProblem problem = prefill::prompts(1, 5000, 16);
  CHECK(most_tokens_of_sequence(problem) == 5000);
  problem.window = 128;
  CHECK(most_tokens_of_sequence(problem) == 143);
  problem.window = 4990;
  CHECK(most_tokens_of_sequence(problem) == 5000);
}

TEST_CASE("splits are whole steps, and as many as the steps allow") {
  AttentionProblem problem = prefill::prompts(1, 1000, 100);  // 8 steps
  CHECK(prefill_splits_of(problem, kTile, 1) == PrefillSplits{});
  CHECK(prefill_splits_of(problem, kTile, 2) == PrefillSplits{2, 512});
  CHECK(prefill_splits_of(problem, kTile, 3) == PrefillSplits{3, 384});
  CHECK(prefill_splits_of(problem, kTile, 5) == PrefillSplits{4, 256});
  CHECK(prefill_splits_of(problem, kTile, 64) == PrefillSplits{8, 128});
  problem.kv_len = 128;
  CHECK(prefill_splits_of(problem, kTile, 4) == PrefillSplits{});
}

TEST_CASE("few tiles of long KV are split until all SMs have work, many tiles are not") {
  const PrefillPlan few = split_plan(prefill::request(chunk()));
  CHECK(few.is_split());
  CHECK(few.splits.count >= 4);
  CHECK(few.splits.tokens % few.tile.kv == 0);
  CHECK(few.parameters.splits == static_cast<int>(few.splits.count));
  CHECK(few.parameters.split_tokens == static_cast<int>(few.splits.tokens));
  CHECK(few.blocks > 100);
  AttentionProblem many = chunk();
  many.batch = 16;
  CHECK_FALSE(split_plan(prefill::request(many)).is_split());
  const PrefillPlan whole = split_plan(prefill::request(prefill::prompts(1, 32768, 32768)));
  CHECK_FALSE(whole.is_split());
  CHECK(whole.workspace.scratch_bytes == 0);
  CHECK(whole.parameters.splits == 0);
  CHECK(prefill::plan(prefill::request(chunk())).splits == PrefillSplits{});  // the portable family
}

TEST_CASE("partial results of generation whose lengths are not known take 256 MiB at most") {
  AttentionProblem problem = chunk();
  problem.prefill = false;
  problem.kv_len = 131072;
  problem.q_len = 16;
  for (const auto& [batch, splits] : {std::pair{8U, 16U}, {256U, 15U}, {1024U, 3U}, {8192U, 1U}}) {
    problem.batch = batch;
    const PrefillPlan made = split_plan(prefill::request(problem));
    CHECK(made.splits.count == splits);
    CHECK(made.workspace.partial_output_bytes <= std::uint64_t{256} << 20);
  }
}

TEST_CASE("a split plan has partial results of every row, and the kernel that combines them") {
  PlanRequest asked = prefill::request(chunk());
  asked.options.splits = 4;
  const PrefillPlan made = split_plan(asked);
  CHECK(made.splits == PrefillSplits{4, 8192});
  const std::uint64_t rows = 4 * 512 * 8;
  CHECK(made.workspace.partial_output_bytes == rows * 128 * 4);
  CHECK(made.workspace.partial_stats_bytes == rows * 4);
  CHECK(made.workspace.scratch_bytes == rows * 129 * 4);
  CHECK(made.workspace.counter_bytes == kWorkspaceAlignment);
  CHECK(prefill_combine_grid(asked.problem) == std::array<std::uint32_t, 3>{512 * 8 * 128 / 1024, 1, 1});
  AttentionProblem padded = asked.problem;
  padded.head_dim_v = 72;  // a row has 16 lanes, too
  CHECK(prefill_combine_grid(padded) == prefill_combine_grid(asked.problem));
  const auto catalog = TemplateCatalog::builtin();
  REQUIRE(catalog);
  const auto combine = catalog->find(kPrefillCombineTemplate);
  REQUIRE(combine);
  const KernelSpec spec = prefill_combine_specification(asked.problem);
  const auto resolved = (*combine)->resolve(spec);
  REQUIRE(resolved);
  CHECK(*resolved == spec);  // nothing is left to a default
}

TEST_CASE("options set the number of splits or their tokens, within the limits") {
  PlanRequest asked = prefill::request(chunk());
  asked.options.split_tokens = 1024;
  CHECK(split_plan(asked).splits == PrefillSplits{32, 1024});
  asked.options.split_tokens = 1U << 17U;
  CHECK_FALSE(split_plan(asked).is_split());
  const auto code_of = [&](std::optional<std::uint32_t> splits, std::optional<std::uint32_t> tokens,
                           const PrefillFamily& family) {
    asked.options.splits = splits;
    asked.options.split_tokens = tokens;
    const auto checked = check_prefill_splits(asked, family);
    return checked ? std::optional<ErrorCode>() : checked.error().code;
  };
  CHECK(code_of(0, {}, kAttentionPrefillWgmma) == ErrorCode::invalid_argument);
  CHECK(code_of(kMaximumPrefillSplits + 1, {}, kAttentionPrefillWgmma) == ErrorCode::invalid_argument);
  CHECK(code_of({}, 100, kAttentionPrefillWgmma) == ErrorCode::invalid_argument);
  CHECK(code_of({}, 0, kAttentionPrefillWgmma) == ErrorCode::invalid_argument);
  CHECK(code_of(2, 128, kAttentionPrefillWgmma) == ErrorCode::invalid_argument);
  CHECK(code_of(kMaximumPrefillSplits, {}, kAttentionPrefillWgmma) == std::nullopt);
  CHECK(code_of(1, {}, kAttentionPrefill) == std::nullopt);
  CHECK(code_of(2, {}, kAttentionPrefill) == ErrorCode::unsupported);
}

TEST_CASE("a sequence with more rows than the combining kernel counts is not split") {
  PlanRequest asked = prefill::request(chunk());
  asked.options.splits = 4;
  const auto candidates = [&](std::uint32_t q_len) {
    asked.problem.q_len = q_len;
    return prefill_split_candidates(asked, kAttentionPrefillWgmma, kTile, {}, true);
  };
  CHECK(candidates((1U << 28U) - 3).size() == 1);
  CHECK(candidates((1U << 28U) - 2).empty());
}

TEST_CASE("invariant numerics are not split, because segments are folded in ascending order") {
  PlanRequest asked = prefill::request(chunk());
  asked.problem.numerics = AttentionNumerics::invariant;
  const PrefillPlan made = split_plan(asked);
  CHECK_FALSE(made.is_split());
  CHECK(made.parameters.split_tokens == 0);
  asked.options.splits = 1;
  CHECK_FALSE(split_plan(asked).is_split());
  asked.options.splits = 4;
  const auto refused = plan_prefill(asked, kAttentionPrefillWgmma);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find("does not split KV with invariant numerics") != std::string::npos);
}

TEST_CASE("without the kernel that combines, a plan does not split, and requested splits are refused") {
  PlanRequest asked = prefill::request(chunk());
  const auto no_combine = [](const KernelSpec& kernel) { return kernel.name != kPrefillCombineTemplate; };
  const auto whole = plan_prefill(asked, kAttentionPrefillWgmma, std::nullopt, no_combine);
  REQUIRE(whole);
  CHECK_FALSE(whole->is_split());
  asked.options.splits = 2;
  const auto refused = plan_prefill(asked, kAttentionPrefillWgmma, std::nullopt, no_combine);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(refused.error().message.find(kPrefillCombineTemplate) != std::string::npos);
}

TEST_CASE("no candidate has shorter splits than pay, and a requested number is the only candidate") {
  PlanRequest asked = prefill::request(prefill::prompts(1, 2048, 16));
  const PrefillBlock block = kAttentionPrefillWgmma.block(asked.problem, kTile);
  const auto candidates = prefill_split_candidates(asked, kAttentionPrefillWgmma, kTile, block, true);
  CHECK(candidates.size() > 1);
  CHECK(candidates.front() == PrefillSplits{});
  CHECK(std::all_of(candidates.begin() + 1, candidates.end(),
                    [](const PrefillSplits& splits) { return splits.tokens >= 4 * 128; }));
  asked.options.splits = 16;
  CHECK(prefill_split_candidates(asked, kAttentionPrefillWgmma, kTile, block, true) ==
        std::vector{PrefillSplits{16, 128}});
  asked.problem.batch = 65536;  // more than the grid of the kernel that combines
  CHECK(prefill_split_candidates(asked, kAttentionPrefillWgmma, kTile, block, true).empty());
}

}  // namespace
}  // namespace cubinet
