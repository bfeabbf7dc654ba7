// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/attention_latent_family.hpp"

#include "decode_fixture.hpp"

namespace cubinet {
namespace {

using namespace test::decode;

AttentionProblem latent_of(std::uint32_t heads, std::uint32_t q_len = 1) {
  AttentionProblem problem = llama(64, 8192, q_len);
  problem.heads_q = heads;
  problem.heads_kv = 1;
  problem.head_dim_qk = 576;
  problem.head_dim_v = 512;
  return problem;
}

TEST_CASE("Latent attention of more than sixteen rows goes to warpgroups on Hopper, and nowhere else") {
  const auto first = [](const AttentionProblem& problem, ComputeCapability device) {
    return std::string(decode_families(problem, device).front()->name);
  };
  CHECK(first(latent_of(17), kHopper.capability) == "attention_latent");
  CHECK(first(latent_of(8, 3), kHopper.capability) == "attention_latent");
  CHECK(first(latent_of(16), kHopper.capability) != "attention_latent");
  for (const ComputeCapability device : {kAmpere.capability, kGeForce.capability, ComputeCapability{10, 0}}) {
    CHECK(first(latent_of(128), device) != "attention_latent");
    CHECK(kAttentionLatent.gap(latent_of(128), device).find("9.0") != std::string::npos);
  }
}

TEST_CASE("Latent rows of several KV heads are computed by the kernel that has them") {
  AttentionProblem problem = latent_of(128);
  problem.heads_kv = 2;
  for (const DecodeFamily* family : decode_families(problem, kHopper.capability)) {
    const bool has_them = std::string(family->name) == "attention_wide";
    if (std::string(family->name).find("latent") != std::string::npos || has_them)
      CHECK(family->gap(problem, kHopper.capability).empty() == has_them);
  }
}

TEST_CASE("Tiles of warpgroups have the rows that there are, and room for two slices beside them") {
  for (const DataType type : {DataType::bf16, DataType::e4m3}) {
    const auto tile = [type](std::uint32_t heads, std::uint32_t q_len) {
      AttentionProblem problem = latent_of(heads, q_len);
      problem.data_type_k = problem.data_type_v = type;
      const DecodePlan made = plan(request(problem), kAttentionLatent);
      CHECK(made.shared_bytes <= kHopper.shared_limit());
      return made.tile;
    };
    CHECK(tile(8, 1) == DecodeTile{16, 64, 2});
    CHECK(tile(16, 2) == DecodeTile{32, 64, 2});
    CHECK(tile(64, 1) == DecodeTile{64, 64, 2});
  }
  CHECK(plan(request(latent_of(128, 4)), kAttentionLatent).q_tiles == 8);
}

TEST_CASE("Tiles of a sequence go in clusters of two where none is left over, and grids are whole clusters") {
  const auto size_of = [](std::uint32_t heads, std::uint32_t q_len) {
    const KernelSpec spec = plan(request(latent_of(heads, q_len)), kAttentionLatent).spec;
    return std::get<std::int64_t>(spec.parameters.at("cluster_size"));
  };
  CHECK(size_of(128, 1) == 2);
  CHECK(size_of(100, 1) == 2);
  CHECK(size_of(64, 2) == 2);
  CHECK(size_of(64, 1) == 1);
  CHECK(size_of(64, 3) == 1);
  for (const std::uint32_t batch : {1U, 3U, 67U, 1000U, 1001U}) {
    AttentionProblem problem = latent_of(128);
    problem.batch = batch;
    PlanRequest asked = request(problem);
    CHECK(plan(asked, kAttentionLatent).grid[0] % 2 == 0);
    asked.options.splits = 3;
    CHECK(plan(asked, kAttentionLatent).grid[0] == 6 * batch);
    asked.options.splits.reset();
    asked.options.split_tokens = 256;
    CHECK(plan(asked, kAttentionLatent).grid[0] % 2 == 0);
  }
}

}  // namespace
}  // namespace cubinet
