// SPDX-License-Identifier: Apache-2.0
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

TEST_CASE("Tiles of warpgroups have the rows that there are, and the deepest ring beside them") {
  CHECK(plan(request(latent_of(8)), kAttentionLatent).tile == DecodeTile{16, 32, 5});
  CHECK(plan(request(latent_of(16, 2)), kAttentionLatent).tile == DecodeTile{32, 32, 5});
  CHECK(plan(request(latent_of(64)), kAttentionLatent).tile == DecodeTile{64, 32, 4});
  CHECK(plan(request(latent_of(128, 4)), kAttentionLatent).q_tiles == 8);
}

TEST_CASE("Converted KV has a ring of its own beside what is multiplied") {
  for (const std::uint32_t heads : {16U, 32U, 64U}) {
    AttentionProblem problem = latent_of(heads);
    problem.data_type_k = problem.data_type_v = DataType::e4m3;
    const DecodePlan made = plan(request(problem), kAttentionLatent);
    CHECK(made.tile == DecodeTile{heads, 32, heads == 16 ? 5U : 4U});
    CHECK(made.shared_bytes <= kHopper.shared_limit());
  }
}

}  // namespace
}  // namespace cubinet
