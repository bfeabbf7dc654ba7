// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/attention_decode_wgmma_family.hpp"

#include "decode_fixture.hpp"

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
  const auto tile = [&](std::uint32_t head_dim) {
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    const DecodePlan made = plan(request(problem), kAttentionDecodeWgmma);
    CHECK(kAttentionDecodeWgmma.block(problem, made.tile).threads == 128);
    CHECK(made.blocks_per_multiprocessor == (head_dim == 256 ? 1 : 2));
    return made.tile;
  };
  CHECK(tile(64) == DecodeTile{64, 64, 6});
  CHECK(tile(128) == DecodeTile{64, 64, 3});
  CHECK(tile(256) == DecodeTile{64, 64, 3});
}

TEST_CASE("KV of eight bits is not multiplied as it is") {
  AttentionProblem problem = llama(16, 4096, 8);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(kAttentionDecodeWgmma.gap(problem, kHopper.capability).find("16 bits") != std::string::npos);
}

}  // namespace
}  // namespace cubinet
