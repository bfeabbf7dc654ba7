// SPDX-License-Identifier: Apache-2.0
#include "templates/invariant_numerics.hpp"

#include "decode_fixture.hpp"
#include "support/ok.hpp"
#include "templates/prefill/prefill_families.hpp"

#include <cubinet/attention/backend.hpp>
#include <cubinet/attention/operation.hpp>

#include <set>

namespace cubinet {
namespace {

using test::ok;
using namespace test::decode;

AttentionProblem invariant(AttentionProblem problem) {
  problem.numerics = AttentionNumerics::invariant;
  return problem;
}

Result<AttentionPlan> templates_plan(const AttentionProblem& problem, const PlanOptions& options = {},
                                     const DeviceFacts& device = kHopper) {
  PlanOptions named = options;
  named.backend = kTemplatesBackend;
  return plan_attention(problem, device, {}, ok(AttentionBackends::builtin()), named);
}

std::string kernel_name(const AttentionPlan& plan) {
  return std::get<KernelSpec>(plan.steps.front().kernel).name;
}

TEST_CASE("Invariant numerics needs separate K and V of 16 bits, and says so") {
  AttentionProblem problem = invariant(llama(4, 4096));
  CHECK(invariant_gap(problem).empty());
  for (const DataType type : {DataType::e4m3, DataType::fp32}) {
    problem.data_type_k = problem.data_type_v = type;
    CHECK(invariant_gap(problem).find("KV of 16 bits") != std::string::npos);
    problem.numerics = AttentionNumerics::fast;
    CHECK(invariant_gap(problem).empty());
    problem.numerics = AttentionNumerics::invariant;
  }
  const Result<AttentionPlan> narrow = templates_plan([&] {
    AttentionProblem e4m3 = problem;
    e4m3.data_type_k = e4m3.data_type_v = DataType::e4m3;
    return e4m3;
  }());
  REQUIRE_FALSE(narrow);
  CHECK(narrow.error().message.find("invariant numerics needs Q and KV of 16 bits") != std::string::npos);
  AttentionProblem latent = invariant(llama(4, 4096));
  latent.heads_kv = 1;
  latent.head_dim_qk = 576;
  latent.head_dim_v = 512;
  const Result<AttentionPlan> refused = templates_plan(latent);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("latent attention") != std::string::npos);
}

TEST_CASE("Every stage of invariant numerics has a kernel, and its specification says what it computes") {
  std::set<std::string> seen;
  for (const std::uint32_t q_len : {1U, 4U, 8U, 200U}) {
    for (const bool prefill : {false, true}) {
      for (const std::uint32_t head_dim : {64U, 96U, 128U, 256U, 512U}) {
        AttentionProblem problem = invariant(llama(4, 4096, q_len));
        problem.prefill = prefill;
        problem.head_dim_qk = problem.head_dim_v = head_dim;
        const AttentionPlan plan = ok(templates_plan(problem));
        for (const PlanStep& step : plan.steps) {
          const auto& kernel = std::get<KernelSpec>(step.kernel);
          CHECK(kernel.parameters.at("numerics") == ParameterValue(std::string("invariant")));
        }
        CHECK(plan.row.selector.invariant);
        seen.insert(kernel_name(plan));
        problem.numerics = AttentionNumerics::fast;
        CHECK_FALSE(ok(templates_plan(problem)).row.selector.invariant);
      }
    }
  }
  CHECK(seen == std::set<std::string>{"attention_decode", "attention_decode_wgmma", "attention_prefill",
                                      "attention_prefill_wgmma"});
}

TEST_CASE("Families without invariant numerics decline by name") {
  const AttentionProblem problem = invariant(llama(4, 4096));
  for (const DecodeFamily* family : decode_families(problem, kHopper.capability)) {
    const std::string gap = numerics_gap(*family, problem);
    CHECK(gap.empty() == family->has_numerics);
    if (!gap.empty()) CHECK(gap.find(family->name) == 0);
    CHECK(numerics_gap(*family, llama(4, 4096)).empty());
  }
  for (const PrefillFamily* family : prefill_families(problem, kHopper.capability)) {
    CHECK(numerics_gap(*family, problem).empty() == family->has_numerics);
    CHECK(numerics_gap(*family, llama(4, 4096)).empty());
  }
}

TEST_CASE("The tiles of invariant numerics are those of their templates") {
  std::size_t tiles = 0;
  for (const std::uint32_t q_len : {1U, 3U, 8U}) {
    for (const std::uint32_t head_dim : {64U, 128U, 256U}) {
      AttentionProblem problem = invariant(llama(4, 4096, q_len));
      problem.head_dim_qk = problem.head_dim_v = head_dim;
      for (const DecodeFamily* family : {&kAttentionDecode, &kAttentionDecodeWgmma}) {
        if (!family->gap(problem, kHopper.capability).empty()) continue;
        for (const DecodeCandidate& rule : family->tiles(problem)) {
          const KernelSpec spec = decode_specification(*family, problem, rule.tile);
          CAPTURE(spec.to_string());
          const KernelSpec resolved = ok(template_of(*family)->resolve(spec));
          CHECK(resolved == spec);
          const auto entries = ok(template_of(*family)->entry_points(resolved));
          const DecodeBlock block = family->block(problem, rule.tile);
          CHECK(entries.front().dynamic_shared_bytes == block.shared_bytes);
          CHECK(entries.front().threads == block.threads);
          CHECK(block.slice == kInvariantSegment);
          ++tiles;
        }
      }
    }
  }
  CHECK(tiles > 30);
}

TEST_CASE("A unit of work is a segment, whatever the batch, and a second kernel folds few rows") {
  for (const std::uint32_t batch : {1U, 3U, 64U, 500U}) {
    const DecodePlan made = plan(invariant(llama(batch, 5000)));
    CHECK(made.parameters.unit.divisor == static_cast<int>(kInvariantSegment));
    CHECK(made.parameters.min_units == 1);
    CHECK(made.combines());
    // 64 rows a sequence, and 132 SMs.
    CHECK(made.combines_apart() == (batch < 64));
    CHECK((made.workspace.counter_bytes == 0) == (batch < 64));
    // A slot for the 8 rows of each of the 10 segments, with maximum and sum.
    const std::uint64_t rows = std::uint64_t{batch} * 10 * 8 * 8;
    CHECK(made.workspace.partial_output_bytes == rows * 128 * 4);
    CHECK(made.workspace.partial_stats_bytes == rows * 2 * 4);
  }
  const DecodePlan one = plan(invariant(llama(64, 512)));
  CHECK(one.splits == 1);
  CHECK_FALSE(one.combines());
}

TEST_CASE("A second kernel folds the segments of a tile if they are more than 128 KiB") {
  const auto folds_apart = [](const AttentionProblem& problem, std::uint32_t splits,
                              const DecodeFamily& family = kAttentionDecode) {
    PlanRequest asked = request(invariant(problem));
    asked.options.splits = splits;
    return plan(asked, family).combines_apart();
  };
  // 4 KiB a segment, of which the block that begins the tile folds its own.
  CHECK_FALSE(folds_apart(llama(5, 32 * 512), 32));
  CHECK_FALSE(folds_apart(llama(5, 33 * 512), 17));
  CHECK(folds_apart(llama(5, 33 * 512), 33));
  // 32 KiB a segment.
  CHECK_FALSE(folds_apart(llama(2, 5 * 512, 8), 3, kAttentionDecodeWgmma));
  CHECK(folds_apart(llama(2, 5 * 512, 8), 5, kAttentionDecodeWgmma));
  // One part per tile: tiles are divided only if their lengths differ.
  CHECK_FALSE(folds_apart(llama(1, 128 * 512), 1));
  CHECK(folds_apart(llama(8, 129 * 512), 1));
}

TEST_CASE("The estimate counts the segments that sequences of known lengths store") {
  struct Asked final : CostModel {
    KernelCost cost(const KernelWork& work) const override {
      *partial_bytes = work.partial_bytes;
      return {1, true};
    }
    std::shared_ptr<double> partial_bytes = std::make_shared<double>(0);
  };
  const auto model = std::make_shared<const Asked>();
  PlanRequest asked = request(invariant(llama(4, 4096)));
  asked.problem.kv_lengths = {4096, 1000, 512, 0};
  asked.options.splits = 2;
  asked.options.costs = model;
  REQUIRE(plan_decode(asked, kAttentionDecode, std::vector{DecodeTile{16, 64, 2}}));
  // 8, 2, 1 and 1 segments for 8 blocks, which take 2 each: the first sequence stores all but one
  // of 8, with 8 rows for each of 8 KV heads.
  CHECK(*model->partial_bytes == 7 * 8 * 8 * 128 * sizeof(float));
}

TEST_CASE("Verification with known lengths has whole tiles, because segments of 64 rows are 32 KiB each") {
  AttentionProblem problem = llama(16, 8192, 8);
  problem.kv_lengths.assign(16, 8192);
  CHECK(plan(request(problem), kAttentionDecodeWgmma).splits == 2);
  CHECK(plan(request(invariant(problem)), kAttentionDecodeWgmma).splits == 1);
}

TEST_CASE("Invariant numerics prefers the deepest rings of which an SM holds as many as it needs") {
  const auto stages = [](std::uint32_t batch, std::uint32_t kv_len, std::uint32_t head_dim) {
    AttentionProblem problem = invariant(llama(batch, kv_len));
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    return plan(problem).tile.stages;
  };
  CHECK(stages(1, 4096, 128) == 6);
  CHECK(stages(64, 4096, 128) == 3);
  CHECK(stages(64, 8192, 64) == 6);
}

TEST_CASE("A window may begin inside of a segment") {
  AttentionProblem problem = invariant(llama(2, 100'000));
  problem.window = 1000;
  const DecodePlan made = plan(problem);
  // 1000 tokens touch three segments of 512.
  CHECK(made.workspace.partial_stats_bytes == std::uint64_t{2} * 3 * 8 * 8 * 2 * 4);
  problem.window = 80'000;
  const DecodePlan wide = plan(problem);
  REQUIRE(wide.combines_apart());
  CHECK(wide.combine.parameters.at("slice") == ParameterValue(std::int64_t{kInvariantSegment}));
}

TEST_CASE("The number of blocks of a tile may be asked for, because bits do not depend on it") {
  PlanRequest asked = request(invariant(llama(1, 16384)));
  for (const std::uint32_t splits : {1U, 5U, 32U}) {
    asked.options.splits = splits;
    const DecodePlan made = plan(asked);
    CHECK(made.parameters.blocks.divisor == static_cast<int>(splits));
    CHECK(made.parameters.unit.divisor == static_cast<int>(kInvariantSegment));
    CHECK(made.combines() == (splits > 1));
  }
}

TEST_CASE("The tokens of a split are those of a segment") {
  PlanOptions options;
  options.split_tokens = 512;
  const auto refused = templates_plan(invariant(llama(4, 4096)), options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("segments of 512 tokens") != std::string::npos);
}

TEST_CASE("Without a second kernel the last block of a tile folds every number of segments") {
  const AttentionProblem problem = invariant(llama(1, 100'000));
  const auto none = [](const KernelSpec&) { return false; };
  CHECK(plan(problem).combines_apart());
  const auto inside = plan_decode(request(problem), kAttentionDecode, std::nullopt, none);
  REQUIRE(inside);
  CHECK(inside->combines());
  CHECK_FALSE(inside->combines_apart());
  CHECK(inside->workspace.counter_bytes > 0);
}

TEST_CASE("Wide heads are computed by warpgroups for fast numerics alone") {
  AttentionProblem problem = llama(4, 4096, 8);
  problem.head_dim_qk = problem.head_dim_v = 256;
  CHECK(kAttentionDecodeWgmma.gap(problem, kHopper.capability).empty());
  CHECK_FALSE(kAttentionDecodeWgmma.gap(invariant(problem), kHopper.capability).empty());
}

}  // namespace
}  // namespace cubinet
