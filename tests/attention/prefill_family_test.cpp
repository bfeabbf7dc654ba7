// SPDX-License-Identifier: Apache-2.0
#include "templates/prefill/prefill_family.hpp"

#include "prefill_fixture.hpp"
#include "templates/prefill/attention_prefill_wgmma_family.hpp"

#include <utility>

namespace cubinet {
namespace {

namespace prefill = test::prefill;

std::string gap_of(const AttentionProblem& problem) {
  return prefill_gap(problem, prefill::kHopper.capability);
}

TEST_CASE("what prefill would ignore is a gap that is named") {
  const AttentionProblem served = prefill::prompts(2, 1000, 500);
  CHECK(gap_of(served).empty());
  AttentionProblem problem = served;
  problem.layout = QkvLayout::packed_qkv;
  CHECK(gap_of(problem).find("packed_qkv") != std::string::npos);
  problem = served;
  problem.mask = AttentionMask::custom;
  CHECK(gap_of(problem).find("custom mask") != std::string::npos);
  problem = served;
  problem.sparse = SparseAttention::static_token;
  CHECK(gap_of(problem).find("top k") != std::string::npos);
  problem = served;
  problem.chunk = 64;
  CHECK(gap_of(problem).find("chunks") != std::string::npos);
  problem = served;
  problem.skips_softmax = true;
  CHECK(gap_of(problem).find("softmax") != std::string::npos);
  problem = served;
  problem.sage_block[0] = 16;
  CHECK(gap_of(problem).find("Sage") != std::string::npos);
  problem = served;
  problem.data_type_k = DataType::e4m3;
  CHECK(gap_of(problem).find("e4m3") != std::string::npos);
}

TEST_CASE("KV of e4m3 is served beside Q of bf16, fp16 and e4m3, and Q of e4m3 has KV of e4m3") {
  AttentionProblem problem = prefill::prompts(2, 1000, 500);
  problem.data_type_k = problem.data_type_v = DataType::e4m3;
  for (const DataType type : {DataType::bf16, DataType::fp16, DataType::e4m3}) {
    problem.data_type_q = type;
    CHECK(gap_of(problem).empty());
    const KernelSpec spec = prefill_specification(kAttentionPrefill, problem);
    CHECK(spec.parameters.at("dtype") == ParameterValue(std::string(to_string(type))));
    CHECK(spec.parameters.at("dtype_kv") == ParameterValue(std::string("e4m3")));
  }
  problem.head_dim_qk = problem.head_dim_v = 72;
  CHECK(gap_of(problem).empty());
  problem = prefill::prompts(2, 1000, 500);
  problem.data_type_q = DataType::e4m3;
  CHECK(gap_of(problem).find("e4m3") != std::string::npos);
}

TEST_CASE("Outputs are folded by the family that multiplies e4m3, and by no other") {
  AttentionProblem problem = prefill::prompts(2, 1000, 500);
  const auto spec_of = [&](const PrefillFamily& family) {
    return prefill_specification(family, problem, family.tiles(problem).front());
  };
  CHECK(spec_of(kAttentionPrefillWgmma).parameters.at("fold_steps") == ParameterValue(0));
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(spec_of(kAttentionPrefill).parameters.count("fold_steps") == 0);
  KernelSpec spec = spec_of(kAttentionPrefillWgmma);
  CHECK(spec.parameters.at("fold_steps") == ParameterValue(4));
  auto tile = prefill_tile_of(spec);
  REQUIRE(tile);
  CHECK(tile == kAttentionPrefillWgmma.tiles(problem).front());
  CHECK(folds_as_planned(kAttentionPrefillWgmma, problem, *tile));
  for (const PrefillTile& other : kAttentionPrefillWgmma.tiles_of_other_error(problem))
    CHECK_FALSE(folds_as_planned(kAttentionPrefillWgmma, problem, other));
  spec.set("fold_steps", -1);
  CHECK_FALSE(prefill_tile_of(spec));
}

TEST_CASE("An output of e4m3 needs a device with the conversion, and warpgroups write it for Q of e4m3") {
  AttentionProblem problem = prefill::prompts(2, 1000, 500);
  problem.data_type_o = DataType::e4m3;
  CHECK(gap_of(problem).empty());
  CHECK(prefill_gap(problem, prefill::kGeForce.capability).find("8.9") != std::string::npos);
  CHECK(kAttentionPrefillWgmma.gap(problem, prefill::kHopper.capability).find("e4m3") != std::string::npos);
  problem.data_type_q = problem.data_type_k = problem.data_type_v = DataType::e4m3;
  CHECK(gap_of(problem).empty());
  CHECK(kAttentionPrefillWgmma.gap(problem, prefill::kHopper.capability).empty());
}

TEST_CASE("generation is left to decode where decode serves it") {
  AttentionProblem problem = prefill::prompts(2, 1000, 4);
  problem.prefill = false;
  CHECK(gap_of(problem).find("generation") != std::string::npos);
  for (const std::uint32_t page : {1U, 2U, 4U, 24U, 512U, 1024U}) {
    problem.tokens_per_page = page;
    CHECK(gap_of(problem).empty());
  }
  problem.tokens_per_page = 64;
  for (const std::uint32_t head_dim : {72U, 80U, 88U, 96U}) {
    problem.head_dim_qk = problem.head_dim_v = head_dim;
    CHECK(gap_of(problem).empty());
  }
  problem = prefill::prompts(2, 1000, 500);
  problem.prefill = false;
  CHECK(gap_of(problem).empty());
  problem = {};
  problem.heads_q = 128;
  problem.head_dim_qk = 576;
  problem.head_dim_v = 512;
  CHECK(gap_of(problem).find("latent") != std::string::npos);
}

TEST_CASE("the specification of prefill has no sizes, so that one kernel serves all page sizes") {
  AttentionProblem problem = prefill::prompts(2, 1000, 500);
  const KernelSpec spec = prefill_specification(kAttentionPrefill, problem);
  problem.tokens_per_page = 24;
  problem.kv_len = 2000;
  problem.batch = 7;
  CHECK(prefill_specification(kAttentionPrefill, problem) == spec);
  problem.layout = QkvLayout::separate_qkv;
  const KernelSpec separate = prefill_specification(kAttentionPrefill, problem);
  CHECK(separate != spec);
  problem.layout = QkvLayout::contiguous_kv;
  CHECK(prefill_specification(kAttentionPrefill, problem) == separate);
}

TEST_CASE("a window shorter than the KV is a parameter of prefill, a longer one is none") {
  AttentionProblem problem = prefill::prompts(2, 1000, 500);
  const auto window_of = [&] {
    return prefill_specification(kAttentionPrefill, problem).parameters.at("sliding_window");
  };
  problem.window = 1000;
  CHECK(window_of() == ParameterValue(false));
  problem.window = 999;
  CHECK(window_of() == ParameterValue(true));
}

TEST_CASE("the tile of a prefill kernel is read from its specification") {
  const PrefillTile tile{128, 64, 3};
  const AttentionProblem problem = prefill::prompts(2, 1000, 500);
  KernelSpec spec = prefill_specification(kAttentionPrefill, problem, tile);
  CHECK(prefill_tile_of(spec) == tile);
  spec.set("stages", 0);
  CHECK_FALSE(prefill_tile_of(spec));
  CHECK_FALSE(prefill_tile_of(prefill_specification(kAttentionPrefill, problem)));
}

TEST_CASE("tiles hold the heads of a group if they are packed, else those of one query head") {
  const AttentionProblem problem = prefill::prompts(3, 1000, 100);
  PrefillBlock block;
  block.tile_heads = 4;
  CHECK(prefill_tiles(problem, {64, 64, 2}, block) == 3 * 8 * 7);  // 400 rows of each KV head
  block.tile_heads = 1;
  CHECK(prefill_tiles(problem, {64, 64, 2}, block) == 3 * 32 * 2);
  block.column_parts = 2;
  CHECK(prefill_tiles(problem, {64, 64, 2}, block) == 3 * 32 * 2 * 2);
}

}  // namespace
}  // namespace cubinet
