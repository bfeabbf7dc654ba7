// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/attention_decode_swapped_family.hpp"

#include "decode_fixture.hpp"

#include <algorithm>

namespace cubinet {
namespace {

using namespace test::decode;

AttentionProblem eight_bits(std::uint32_t batch, std::uint32_t q_len, std::uint32_t head_dim = 128) {
  AttentionProblem problem = llama(batch, 8192, q_len);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  problem.head_dim_qk = problem.head_dim_v = head_dim;
  return problem;
}

// Whether the family is asked before the portable one.
bool goes_first(const AttentionProblem& problem, ComputeCapability device) {
  const auto families = decode_families(problem, device);
  return std::find(families.begin(), families.end(), &kAttentionDecodeSwapped) <
         std::find(families.begin(), families.end(), &kAttentionDecode);
}

TEST_CASE("Many rows of e4m3 go to KV from registers on Hopper, and nowhere else") {
  for (const ComputeCapability device : {kAmpere.capability, kGeForce.capability, ComputeCapability{10, 0}}) {
    CHECK_FALSE(goes_first(eight_bits(4, 8), device));
    CHECK(kAttentionDecodeSwapped.gap(eight_bits(4, 8), device).find("9.0") != std::string::npos);
  }
  CHECK(kAttentionDecodeSwapped.gap(llama(4, 5000, 8), kHopper.capability).find("eight bits") !=
        std::string::npos);
  CHECK(kAttentionDecodeSwapped.gap(eight_bits(4, 2), kHopper.capability).find("of which 16") !=
        std::string::npos);
  CHECK(kAttentionDecodeSwapped.gap(eight_bits(4, 4), kHopper.capability).empty());
  CHECK_FALSE(goes_first(eight_bits(4, 4), kHopper.capability));
  CHECK(goes_first(eight_bits(4, 5), kHopper.capability));
  CHECK_FALSE(goes_first(eight_bits(16, 4, 64), kHopper.capability));
  CHECK(goes_first(eight_bits(32, 4, 64), kHopper.capability));
  CHECK(goes_first(eight_bits(4, 100), kHopper.capability));
}

TEST_CASE("A tile is that of which all rows take least, with as many blocks as have registers") {
  struct Expected {
    std::uint32_t head_dim;
    std::uint32_t q_len;
    std::uint32_t tile;
    std::uint32_t blocks;
  };
  for (const Expected& expected : {Expected{128, 4, 32, 3},
                                   {128, 6, 48, 3},
                                   {128, 8, 64, 2},
                                   {128, 12, 96, 2},
                                   {128, 16, 64, 2},
                                   {64, 4, 32, 4},
                                   {64, 5, 48, 3},
                                   {64, 8, 64, 3},
                                   {64, 12, 96, 2},
                                   {64, 16, 64, 3},
                                   {256, 8, 32, 2}}) {
    CAPTURE(expected.head_dim);
    CAPTURE(expected.q_len);
    const AttentionProblem problem = eight_bits(16, expected.q_len, expected.head_dim);
    const DecodePlan made = plan(request(problem), kAttentionDecodeSwapped);
    CHECK(made.tile.q == expected.tile);
    CHECK(made.blocks_per_multiprocessor == expected.blocks);
    CHECK(kAttentionDecodeSwapped.block(problem, made.tile).threads == 128);
  }
}

TEST_CASE("Where blocks would have few steps of KV tiles are smaller, and more of them run at once") {
  struct Expected {
    std::uint32_t batch;
    std::uint32_t q_len;
    std::uint32_t head_dim;
    std::uint32_t tile;
  };
  for (const Expected& expected : {Expected{1, 8, 128, 32},
                                   {4, 8, 128, 64},
                                   {1, 12, 128, 48},
                                   {4, 12, 128, 96},
                                   {1, 6, 128, 48},
                                   {1, 8, 64, 64},
                                   {2, 8, 64, 64},
                                   {2, 12, 64, 32}}) {
    CAPTURE(expected.batch);
    CAPTURE(expected.q_len);
    CAPTURE(expected.head_dim);
    const AttentionProblem problem = eight_bits(expected.batch, expected.q_len, expected.head_dim);
    CHECK(plan(request(problem), kAttentionDecodeSwapped).tile.q == expected.tile);
  }
}

TEST_CASE("What a block looks up and masks takes the registers of one block more") {
  AttentionProblem problem = eight_bits(16, 8, 64);
  const auto blocks = [&] {
    return plan(request(problem), kAttentionDecodeSwapped).blocks_per_multiprocessor;
  };
  for (const std::uint32_t page_size : {256U, 128U, 64U, 32U, 16U, 8U}) {
    problem.tokens_per_page = page_size;
    CHECK(blocks() == (page_size >= 64 ? 3 : 2));
  }
  problem.tokens_per_page = 64;
  problem.separate_page_tables = true;
  CHECK(blocks() == 2);
  problem.separate_page_tables = false;
  problem.soft_cap = 30.0;
  CHECK(blocks() == 2);
  problem.soft_cap.reset();
  problem.mask = AttentionMask::custom;
  CHECK(blocks() == 2);
}

}  // namespace
}  // namespace cubinet
