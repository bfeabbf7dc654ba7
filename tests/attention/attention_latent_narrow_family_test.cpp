// SPDX-License-Identifier: Apache-2.0
#include "templates/decode/attention_latent_narrow_family.hpp"

#include "decode_fixture.hpp"

namespace cubinet {
namespace {

using namespace test::decode;

AttentionProblem few_rows(std::uint32_t heads, std::uint32_t q_len = 1, DataType kv = DataType::bf16) {
  AttentionProblem problem = llama(64, 8192, q_len);
  problem.heads_q = heads;
  problem.heads_kv = 1;
  problem.head_dim_qk = 576;
  problem.head_dim_v = 512;
  problem.data_type_k = problem.data_type_v = kv;
  return problem;
}

TEST_CASE("Latent attention of few rows goes to a kernel of its own on Hopper, and nowhere else") {
  const auto first = [](const AttentionProblem& problem, ComputeCapability device) {
    return std::string(decode_families(problem, device).front()->name);
  };
  const std::string name = kAttentionLatentNarrow.name;
  CHECK(first(few_rows(16), kHopper.capability) == name);
  CHECK(first(few_rows(8, 2), kHopper.capability) == name);
  CHECK(first(few_rows(17), kHopper.capability) != name);
  for (const ComputeCapability device : {kAmpere.capability, kGeForce.capability, ComputeCapability{10, 0}}) {
    CHECK(first(few_rows(16), device) != name);
    CHECK(kAttentionLatentNarrow.gap(few_rows(16), device).find("9.0") != std::string::npos);
  }
}

TEST_CASE("Several KV heads of latent attention are declined") {
  AttentionProblem problem = few_rows(16);
  problem.heads_kv = 2;
  CHECK(kAttentionLatentNarrow.gap(problem, kHopper.capability).find("one KV head") != std::string::npos);
}

TEST_CASE("The ring of few rows is as deep as shared memory allows, in steps or thirds of steps") {
  CHECK(plan(request(few_rows(8)), kAttentionLatentNarrow).tile == DecodeTile{16, 64, 8});
  CHECK(plan(request(few_rows(16, 1, DataType::e4m3)), kAttentionLatentNarrow).tile == DecodeTile{16, 64, 5});
  CHECK(plan(request(few_rows(16, 2)), kAttentionLatentNarrow).q_tiles == 2);
}

}  // namespace
}  // namespace cubinet
