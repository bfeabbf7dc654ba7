// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/attention_wide_family.hpp"

#include "decode_fixture.hpp"

namespace cubinet {
namespace {

using namespace test::decode;

AttentionProblem latent_problem(std::uint32_t heads, std::uint32_t q_len = 1) {
  AttentionProblem problem = llama(64, 8192, q_len);
  problem.heads_q = heads;
  problem.heads_kv = 1;
  problem.head_dim_qk = 576;
  problem.head_dim_v = 512;
  return problem;
}

DecodePlan wide_plan(const AttentionProblem& problem, const DeviceFacts& device = kHopper) {
  return plan(request(problem, device), kAttentionWide);
}

TEST_CASE("Latent attention and head dim 512 have the deepest ring that a block may have") {
  AttentionProblem problem = latent_problem(16);
  CHECK(wide_plan(problem).tile == DecodeTile{16, 32, 5});
  CHECK(wide_plan(problem).blocks_per_multiprocessor == 1);
  problem.head_dim_qk = 512;
  CHECK(wide_plan(problem).tile == DecodeTile{16, 32, 3});
}

TEST_CASE("Every device that multiplies bf16 has a tile of both, the smaller ones of fewer tokens") {
  for (const DeviceFacts& device : {kHopper, kAmpere, kGeForce}) {
    for (const std::uint32_t head_dim : {512U, 576U}) {
      for (const std::uint32_t heads : {1U, 16U, 32U, 128U}) {
        AttentionProblem problem = latent_problem(heads);
        problem.head_dim_qk = head_dim;
        CHECK(wide_plan(problem, device).shared_bytes <= device.shared_limit());
      }
    }
  }
  CHECK(wide_plan(latent_problem(16), kGeForce).tile == DecodeTile{16, 16, 3});
}

TEST_CASE("Elements of eight bits come in steps of twice the tokens, and not to devices without the memory") {
  AttentionProblem problem = latent_problem(16);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(wide_plan(problem).tile == DecodeTile{16, 64, 5});
  CHECK(wide_plan(problem, kAmpere).tile == DecodeTile{16, 64, 3});
  problem.heads_q = 64;
  CHECK(wide_plan(problem).tile.kv == 32);
  const auto none = plan_decode(request(problem, kGeForce), kAttentionWide);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::unsupported);
}

TEST_CASE("The heads of latent attention fill tiles of up to 64 rows") {
  CHECK(wide_plan(latent_problem(16, 2)).tile.q == 32);
  CHECK(wide_plan(latent_problem(64)).tile.q == 64);
  const DecodePlan many = wide_plan(latent_problem(128, 2));
  CHECK(many.tile.q == 64);
  CHECK(many.q_tiles == 4);
}

// An H200 took 158 us with 128 blocks and 173 us with 256.
TEST_CASE("A batch is divided among blocks that all run at once, where one fits a multiprocessor") {
  CHECK(wide_plan(latent_problem(16)).grid[0] == 128);
  AttentionProblem problem = llama(16, 8192);
  problem.heads_q = 32;
  problem.heads_kv = 4;
  problem.head_dim_qk = problem.head_dim_v = 512;
  CHECK(wide_plan(problem).grid[0] == 128);
}

TEST_CASE("The cost of latent attention is that of one pool") {
  PlanRequest asked = request(latent_problem(16));
  asked.options.splits = 2;
  const DecodePlan made = plan(asked, kAttentionWide);
  CHECK(made.cost.time > 64 * 8192 * 1152.0 / 5e6);
  CHECK(made.cost.time < 64 * 8192 * 1152.0 / 2e6);
}

}  // namespace
}  // namespace cubinet
