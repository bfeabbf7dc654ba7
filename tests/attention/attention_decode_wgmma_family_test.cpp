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
    "Two blocks of a warpgroup share a multiprocessor, with the deepest ring that leaves room for both") {
  AttentionProblem problem = llama(16, 4096, 8);
  const auto tile = [&](std::uint32_t head_dim, DataType type) {
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    problem.data_type_k = problem.data_type_v = type;
    const DecodePlan made = plan(request(problem), kAttentionDecodeWgmma);
    CHECK(made.blocks_per_multiprocessor == (head_dim == 256 ? 1 : 2));
    return made.tile;
  };
  CHECK(tile(64, DataType::bf16) == DecodeTile{64, 64, 6});
  CHECK(tile(128, DataType::bf16) == DecodeTile{64, 64, 3});
  CHECK(tile(256, DataType::bf16) == DecodeTile{64, 64, 3});
  CHECK(tile(128, DataType::e4m3) == DecodeTile{64, 64, 3});
}

TEST_CASE("Two warpgroups share a block of e4m3 of head dim 64 where its loop fits into their registers") {
  AttentionProblem problem = llama(16, 4096, 8);
  problem.head_dim_qk = problem.head_dim_v = 64;
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  const auto threads = [&] {
    const DecodePlan made = plan(request(problem), kAttentionDecodeWgmma);
    CHECK(made.blocks_per_multiprocessor >= 2);
    return kAttentionDecodeWgmma.block(problem, made.tile).threads;
  };
  problem.tokens_per_page = 64;
  CHECK(threads() == 256);
  problem.tokens_per_page = 16;
  CHECK(threads() == 128);
  problem.tokens_per_page = 64;
  problem.soft_cap = 30.0;
  CHECK(threads() == 128);
  problem.soft_cap.reset();
  problem.data_type_k = problem.data_type_v = DataType::bf16;
  CHECK(threads() == 128);
}

}  // namespace
}  // namespace cubinet
