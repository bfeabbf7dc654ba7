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
  problem.kv_lengths.assign(16, 4096);
  CHECK(plan(problem).tile == DecodeTile{16, 128, 2});
}

// On an H100, batch 1024, KV 76: 83 us with a warp for each block, 165 us with four.
TEST_CASE("Many short tiles have blocks of one warp, a few long ones blocks of four") {
  AttentionProblem many = llama(1024, 76);
  many.heads_q = 32;
  many.head_dim_qk = many.head_dim_v = 64;
  CHECK(plan(many).tile == DecodeTile{16, 16, 2});
  CHECK(plan(llama(16, 4096)).tile == DecodeTile{16, 64, 2});
}

// On an H100, 32 sequences of 8 tokens, 25 rows: 5.0 us with tiles of 16 rows, 12.2 us with one of
// 32.
TEST_CASE("Two small tiles are taken where one large tile starts and ends slowly") {
  AttentionProblem problem = llama(32, 89, 5);
  problem.heads_q = 5;
  problem.heads_kv = 1;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(plan(problem).tile.q == 16);
  problem.kv_len = 30000;
  CHECK(plan(problem).tile.q == 32);
}

TEST_CASE("The tile of splits of a fixed length depends neither on the batch nor on the length") {
  PlanRequest one = request(llama(1, 131072, 4));
  one.options.split_tokens = 512;
  PlanRequest many = request(llama(1000, 64, 4));
  many.options.split_tokens = 512;
  CHECK(plan(one).tile == DecodeTile{32, 64, 3});
  CHECK(plan(many).tile == plan(one).tile);
  CHECK(plan(llama(1000, 64, 4)).tile != plan(one).tile);
}

TEST_CASE("A warp multiplies what it converted with both tiles of 32 rows") {
  for (const auto& [head_dim, threads_a_token] :
       {std::array{64U, 1U}, std::array{128U, 1U}, std::array{256U, 4U}}) {
    AttentionProblem problem = llama(16, 4096, 4);
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    problem.data_type_k = problem.data_type_v = DataType::e4m3;
    const DecodePlan made = plan(problem);
    CHECK(made.tile.q == 32);
    const auto entries = template_of(kAttentionDecode)->entry_points(made.spec);
    REQUIRE(entries);
    CHECK(entries->front().threads == threads_a_token * made.tile.kv);
  }
}

TEST_CASE("Of sixty four rows a warp takes twice the tokens where its accumulators leave it the registers") {
  AttentionProblem problem = llama(16, 4096, 8);
  const auto threads_a_token = [&](std::uint32_t head_dim) {
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    const DecodePlan made = plan(problem);
    CHECK(made.tile.q == 64);
    const auto entries = template_of(kAttentionDecode)->entry_points(made.spec);
    REQUIRE(entries);
    return entries->front().threads / made.tile.kv;
  };
  CHECK(threads_a_token(64) == 4);
  CHECK(threads_a_token(128) == 4);
  CHECK(threads_a_token(256) == 8);
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
