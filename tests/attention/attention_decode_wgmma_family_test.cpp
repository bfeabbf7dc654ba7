// SPDX-License-Identifier: Apache-2.0
#include "decode_fixture.hpp"
#include "templates/decode_family.hpp"

#include <algorithm>

namespace cubinet {
namespace {

using namespace test::decode;

// Whether the family serves, and is asked before the portable one.
bool is_asked(const AttentionProblem& problem, ComputeCapability device) {
  if (!kAttentionDecodeWgmma.gap(problem, device).empty()) return false;
  const auto families = decode_families(problem, device);
  return std::find(families.begin(), families.end(), &kAttentionDecodeWgmma) <
         std::find(families.begin(), families.end(), &kAttentionDecode);
}

TEST_CASE("More than half of sixty four rows go to warpgroups on Hopper, and nowhere else") {
  for (const ComputeCapability device : {kAmpere.capability, kGeForce.capability, ComputeCapability{10, 0}}) {
    CHECK_FALSE(is_asked(llama(4, 5000, 8), device));
    CHECK(kAttentionDecodeWgmma.gap(llama(4, 5000, 8), device).find("9.0") != std::string::npos);
  }
  CHECK_FALSE(is_asked(llama(4, 5000, 4), kHopper.capability));
  CHECK(is_asked(llama(4, 5000, 5), kHopper.capability));
  CHECK(is_asked(llama(4, 5000, 100), kHopper.capability));
}

TEST_CASE(
    "As many blocks share a multiprocessor as have registers, with the deepest ring that leaves room for "
    "them") {
  AttentionProblem problem = llama(16, 4096, 8);
  const auto tile = [&](std::uint32_t head_dim, DataType type) {
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    problem.data_type_k = problem.data_type_v = type;
    const DecodePlan made = plan(request(problem), kAttentionDecodeWgmma);
    const bool converts = type == DataType::e4m3;
    CHECK(kAttentionDecodeWgmma.block(problem, made.tile).threads == (converts ? 256 : 128));
    CHECK(made.blocks_per_multiprocessor == (head_dim == 256 ? 1 : converts && head_dim == 64 ? 3 : 2));
    return made.tile;
  };
  CHECK(tile(64, DataType::bf16) == DecodeTile{64, 64, 6});
  CHECK(tile(128, DataType::bf16) == DecodeTile{64, 64, 3});
  CHECK(tile(256, DataType::bf16) == DecodeTile{64, 64, 3});
  CHECK(tile(64, DataType::e4m3) == DecodeTile{64, 64, 4});
  CHECK(tile(128, DataType::e4m3) == DecodeTile{64, 64, 3});
}

TEST_CASE("More than sixty four rows of e4m3 are one tile, whose KV is converted once") {
  AttentionProblem problem = llama(16, 4096, 12);
  const auto tile = [&] { return plan(request(problem), kAttentionDecodeWgmma).tile; };
  CHECK(tile().q == 64);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(tile() == DecodeTile{128, 64, 6});
  CHECK(kAttentionDecodeWgmma.block(problem, tile()).threads == 384);
  problem.q_len = 8;
  CHECK(tile().q == 64);
  problem.q_len = 12;
  problem.head_dim_qk = problem.head_dim_v = 64;
  CHECK(tile().q == 64);
}

TEST_CASE("Blocks of narrow heads of e4m3 share a multiprocessor by three where their registers suffice") {
  AttentionProblem problem = llama(16, 4096, 8);
  problem.head_dim_qk = problem.head_dim_v = 64;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const auto blocks = [&] { return plan(request(problem), kAttentionDecodeWgmma).blocks_per_multiprocessor; };
  for (const std::uint32_t page_size : {128U, 64U, 32U, 16U, 8U}) {
    problem.tokens_per_page = page_size;
    CHECK(blocks() == (page_size == 8 ? 2 : 3));
  }
  problem.tokens_per_page = 16;
  problem.separate_page_tables = true;
  CHECK(blocks() == 2);
  problem.separate_page_tables = false;
  problem.soft_cap = 30.0;
  CHECK(blocks() == 3);
  problem.mask = AttentionMask::custom;
  CHECK(blocks() == 2);
}

}  // namespace
}  // namespace cubinet
