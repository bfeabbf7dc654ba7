// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/attention_decode_family.hpp"

#include "decode_fixture.hpp"

#include <utility>

namespace cubinet {
namespace {

using namespace test::decode;

TEST_CASE(
    "Every plan is a specification that the template accepts, with the shared memory that the template "
    "computes") {
  const auto kernel_template = template_of(kAttentionDecode);
  for (const DeviceFacts& device : {kHopper, kAmpere, kGeForce}) {
    for (const std::uint32_t head_dim_qk : {64U, 128U, 256U}) {
      for (const std::uint32_t head_dim_v : {64U, 128U, 256U}) {
        for (const std::uint32_t q_len : {1U, 3U, 8U, 100U}) {
          for (const DataType kv : {DataType::bf16, DataType::e4m3}) {
            AttentionProblem problem = llama(4, 5000, q_len);
            problem.data_type_k = problem.data_type_v = kv;
            problem.head_dim_qk = head_dim_qk;
            problem.head_dim_v = head_dim_v;
            const DecodePlan made = plan(problem, device);
            const auto resolved = kernel_template->resolve(made.spec);
            REQUIRE_MESSAGE(resolved, (resolved ? std::string() : resolved.error().message));
            CHECK(*resolved == made.spec);  // nothing is left to a default
            const auto entries = kernel_template->entry_points(*resolved);
            REQUIRE(entries);
            CHECK(entries->front().dynamic_shared_bytes == made.shared_bytes);
            CHECK(entries->front().parameter_bytes == sizeof(made.parameters));
            CHECK(entries->front().threads <= 256);
            CHECK(made.shared_bytes <= device.shared_limit());
          }
        }
      }
    }
  }
}

TEST_CASE("Query tokens and heads of a group are packed into the tile") {
  CHECK(number(plan(llama(16, 4096, 1)), "tile_size_q") == 16);
  CHECK(number(plan(llama(16, 4096, 2)), "tile_size_q") == 16);
  CHECK(number(plan(llama(16, 4096, 4)), "tile_size_q") == 32);
  const DecodePlan eight = plan(llama(16, 4096, 8));
  CHECK(number(eight, "tile_size_q") == 64);
  CHECK(eight.q_tiles == 1);
  const DecodePlan hundred = plan(llama(16, 4096, 100));
  CHECK(hundred.q_tiles == 13);  // 800 rows in tiles of 64
}

TEST_CASE("A warp takes twice the tokens of eight bits, in rings of 64 KiB that two blocks share") {
  AttentionProblem problem = llama(16, 4096);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const DecodePlan made = plan(problem);
  CHECK(made.tile == DecodeTile{16, 128, 2});
  CHECK(made.blocks_per_multiprocessor == 2);
  const auto entries = template_of(kAttentionDecode)->entry_points(made.spec);
  REQUIRE(entries);
  CHECK(entries->front().threads == 128);
  problem.head_dim_qk = problem.head_dim_v = 64;
  CHECK(plan(problem).tile == DecodeTile{16, 128, 2});
}

TEST_CASE("Steps are the smaller the more tiles there are, but for splits that are the same in every batch") {
  const auto tokens = [](std::uint32_t batch, std::uint32_t head_dim, std::uint32_t q_len, DataType type) {
    AttentionProblem problem = llama(batch, 4096, q_len);
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    problem.data_type_k = problem.data_type_v = type;
    return plan(problem).tile.kv;
  };
  for (const auto& [batch, of_64, of_128, of_256] :
       {std::array{16U, 128U, 64U, 64U}, std::array{32U, 64U, 32U, 32U}, std::array{64U, 32U, 16U, 16U}}) {
    CHECK(tokens(batch, 64, 1, DataType::bf16) == of_64);
    CHECK(tokens(batch, 128, 1, DataType::bf16) == of_128);
    CHECK(tokens(batch, 256, 1, DataType::bf16) == of_256);
  }
  CHECK(tokens(64, 128, 1, DataType::e4m3) == 32);
  CHECK(tokens(64, 64, 1, DataType::e4m3) == 64);
  PlanRequest fixed = request(llama(64, 4096));
  fixed.options.split_tokens = 512;
  CHECK(plan(fixed).tile == plan(llama(1, 4096)).tile);
}

TEST_CASE("A warp multiplies what it converted with both tiles of 32 rows") {
  for (const auto& [head_dim, kv, threads] :
       {std::array{64U, 128U, 128U}, std::array{128U, 128U, 128U}, std::array{256U, 64U, 256U}}) {
    AttentionProblem problem = llama(16, 4096, 4);
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    problem.data_type_k = problem.data_type_v = DataType::e4m3;
    const DecodePlan made = plan(problem);
    CHECK(made.tile.q == 32);
    CHECK(made.tile.kv == kv);
    const auto entries = template_of(kAttentionDecode)->entry_points(made.spec);
    REQUIRE(entries);
    CHECK(entries->front().threads == threads);
  }
}

TEST_CASE("Of sixty four rows a warp takes twice the tokens where its accumulators leave it the registers") {
  AttentionProblem problem = llama(16, 4096, 8);
  const auto threads = [&](std::uint32_t head_dim) {
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    const DecodePlan made = plan(problem);
    const auto entries = template_of(kAttentionDecode)->entry_points(made.spec);
    REQUIRE(entries);
    return std::pair(made.tile.kv, entries->front().threads);
  };
  CHECK(threads(64) == std::pair(64U, 256U));
  CHECK(threads(128) == std::pair(32U, 128U));
  CHECK(threads(256) == std::pair(32U, 256U));
}

TEST_CASE("Smaller shared memory gets a shallower ring, none at all an error") {
  CHECK(number(plan(llama(16, 4096), kHopper), "stages") == 2);
  CHECK(number(plan(llama(16, 4096), kAmpere), "stages") == 2);
  CHECK(number(plan(llama(16, 4096), kGeForce), "stages") == 2);
  const auto none = plan_decode(request(llama(16, 4096), {{8, 0}, 16, 8 * 1024}), kAttentionDecode);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::unsupported);
}

}  // namespace
}  // namespace cubinet
