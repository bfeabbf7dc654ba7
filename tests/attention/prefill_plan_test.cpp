// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_plan.hpp"

#include "prefill_fixture.hpp"

#include <utility>

namespace cubinet {
namespace {

namespace prefill = test::prefill;

TEST_CASE(
    "every plan of prefill is a specification that the template accepts, with the shared memory that the "
    "template computes") {
  const auto kernel_template = prefill::template_of(kAttentionPrefill);
  for (const DeviceFacts& device : {prefill::kHopper, prefill::kAmpere, prefill::kGeForce}) {
    for (const auto& [qk, v] :
         {std::pair{64U, 64U}, {72U, 72U}, {96U, 96U}, {128U, 128U}, {192U, 128U}, {256U, 256U}}) {
      for (const std::uint32_t q_len : {1U, 100U, 5000U}) {
        AttentionProblem problem = prefill::prompts(4, 5000, q_len);
        problem.head_dim_qk = qk;
        problem.head_dim_v = v;
        const PrefillPlan made = prefill::plan(problem, device);
        const auto resolved = kernel_template->resolve(made.spec);
        REQUIRE_MESSAGE(resolved, (resolved ? std::string() : resolved.error().message));
        CHECK(*resolved == made.spec);  // nothing is left to a default
        const auto entries = kernel_template->entry_points(*resolved);
        REQUIRE(entries);
        CHECK(entries->front().dynamic_shared_bytes == made.block.shared_bytes);
        CHECK(entries->front().threads == made.block.threads);
        CHECK(entries->front().parameter_bytes == sizeof(made.parameters));
        CHECK(made.block.shared_bytes <= device.shared_limit());
      }
    }
  }
}

TEST_CASE("head dim 512 is computed in two parts of V, where the shared memory holds a step of it") {
  AttentionProblem problem = prefill::prompts(2, 1000, 64);
  problem.head_dim_qk = problem.head_dim_v = 512;
  const PrefillPlan made = prefill::plan(problem);
  CHECK(made.blocks == 2 * 8 * 4 * 2);
  CHECK(made.block.shared_bytes == 64 * 512 * 2 + 64 * (512 + 256) * 2 + 16);
  CHECK(prefill::template_of(kAttentionPrefill)->resolve(made.spec));
  CHECK_FALSE(plan_prefill(prefill::request(problem, prefill::kGeForce), kAttentionPrefill));
}

TEST_CASE("the grid of prefill has a block for each tile, but no more than the device holds") {
  const PrefillPlan few = prefill::plan(prefill::prompts(1, 64, 16));  // 64 rows of each KV head
  CHECK(few.blocks == 8);
  const PrefillPlan many = prefill::plan(prefill::prompts(8, 8192, 8192));
  CHECK(many.blocks == 132 * many.blocks_per_multiprocessor);
}

TEST_CASE("a grid of prefill does not exceed the occupancy that the driver reports") {
  PlanRequest asked = prefill::request(prefill::prompts(8, 8192, 8192));
  const PrefillTile tile{64, 64, 2};
  const auto planned = plan_prefill(asked, kAttentionPrefill, std::vector{tile});
  REQUIRE(planned);
  CHECK(planned->blocks_per_multiprocessor == 2);
  asked.options.occupancy = {{planned->spec, 1}};
  const auto again = plan_prefill(asked, kAttentionPrefill, std::vector{tile});
  REQUIRE(again);
  CHECK(again->blocks == 132);
}

TEST_CASE("tall tiles serve long prompts, small ones short prompts") {
  CHECK(prefill::plan(prefill::prompts(4, 8192, 8192)).tile.q == 128);
  CHECK(prefill::plan(prefill::prompts(1, 512, 64)).tile.q == 64);
}

TEST_CASE("known lengths and windows make a plan of prefill cheaper") {
  AttentionProblem problem = prefill::prompts(2, 8192, 1024);
  const double whole = prefill::plan(problem).cost.time;
  CHECK(prefill::plan(problem).cost.in_microseconds);
  problem.kv_lengths = {2048, 2048};
  CHECK(prefill::plan(problem).cost.time < 0.6 * whole);
  problem.kv_lengths.clear();
  problem.window = 512;
  CHECK(prefill::plan(problem).cost.time < 0.3 * whole);
}

// Times of an H200, in microseconds, of 16 query tokens and 32/2 heads. Of the numbers of splits
// some leave few tiles of a second round, which wait for others and are long.
TEST_CASE("estimates for splits of uneven lengths are close to measured times") {
  AttentionProblem problem = prefill::prompts(8, 16384, 16);
  problem.prefill = false;
  problem.heads_kv = 2;
  problem.kv_lengths = {1873, 1923, 336, 4071, 7965, 16293, 943, 16384};
  PlanRequest asked{problem, prefill::kHopper, {}, {}};
  const auto time = [&] {
    const auto planned = plan_prefill(asked, kAttentionPrefillWgmma);
    REQUIRE(planned);
    return planned->cost.time;
  };
  const double least = time();
  struct Row {
    std::uint32_t splits;
    double measured;
  };
  for (const Row& row :
       {Row{8, 41.6}, Row{10, 46.3}, Row{11, 45.2}, Row{12, 50.8}, Row{16, 48.6}, Row{22, 52.3}}) {
    CAPTURE(row.splits);
    asked.options.splits = row.splits;
    CHECK(time() == doctest::Approx(row.measured).epsilon(0.08));
    CHECK(least <= time());
  }
}

TEST_CASE("a tile whose rows leave a warpgroup without any takes less time, but more than half") {
  AttentionProblem problem = prefill::prompts(2000, 100, 16);
  problem.heads_kv = 1;
  const auto time = [&](std::uint32_t heads) {
    problem.heads_q = heads;
    const auto planned = plan_prefill({problem, prefill::kHopper, {}, {}}, kAttentionPrefillWgmma);
    REQUIRE(planned);
    return planned->cost.terms.read;
  };
  CHECK(time(5) == time(8));
  CHECK(time(4) < 0.8 * time(8));
  CHECK(time(4) > 0.5 * time(8));
  CHECK(time(4) == time(2));
}

TEST_CASE("KV splits, too many tokens and devices without shared memory are refused by name") {
  PlanRequest asked = prefill::request(prefill::prompts(1, 1000, 1000));
  asked.options.splits = 2;
  CHECK(plan_prefill(asked, kAttentionPrefill).error().code == ErrorCode::unsupported);
  asked.options.splits = 1;
  CHECK(plan_prefill(asked, kAttentionPrefill));
  asked.options.splits.reset();
  asked.options.split_tokens = 128;
  CHECK(plan_prefill(asked, kAttentionPrefill).error().message.find("split") != std::string::npos);
  const auto refusal = [](const AttentionProblem& problem) {
    const auto made = plan_prefill(prefill::request(problem), kAttentionPrefill);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::invalid_argument);
    return made.error().message;
  };
  CHECK(refusal(prefill::prompts(1, (1U << 30U) + 1, 1)).find("kv_len") != std::string::npos);
  CHECK(refusal(prefill::prompts(1, 1U << 30U, 1U << 27U)).find("q_len") != std::string::npos);
  AttentionProblem many = prefill::prompts(65535, 1U << 22U, 1U << 22U);
  CHECK(refusal(many).find("`AttentionProblem::batch` 65535 times") != std::string::npos);
  many.ragged_q = true;  // the offsets bound the tokens
  CHECK(refusal(many).find("tiles") != std::string::npos);
  CHECK(plan_prefill(prefill::request(prefill::prompts(512, 1U << 22U, (1U << 22U) - 1)), kAttentionPrefill));
  CHECK(refusal(prefill::prompts(512, 1U << 22U, 1U << 22U)).find("2^31 - 1") != std::string::npos);
  const DeviceFacts tiny{{8, 0}, 16, 8 * 1024};
  const auto none = plan_prefill(prefill::request(prefill::prompts(1, 100, 100), tiny), kAttentionPrefill);
  REQUIRE_FALSE(none);
  CHECK(none.error().message.find("shared memory") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
